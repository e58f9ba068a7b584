// Runs in: supervisor.
#include "spawn/flat.h"

#include <cstring>
#include <string_view>

namespace cordon::spawn {
namespace {

using backend::FlatRule;
using backend::FlatSpec;
using backend::FlatStep;

// What is appended stays where it is, counted from the start.
class Packer {
 public:
  Packer() : bytes_(sizeof(FlatSpec), '\0') {}

  template <typename T>
  const T* Add(const T* items, size_t count) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    size_t at = bytes_.size();
    bytes_.append(reinterpret_cast<const char*>(items), sizeof(T) * count);
    return reinterpret_cast<const T*>(at);
  }
  const char* Text(std::string_view text) {
    const char* at = Add(text.data(), text.size());
    bytes_ += '\0';
    return at;
  }
  const char* const* Words(const char* const* words) {
    std::vector<const char*> packed;
    for (; *words != nullptr; ++words) packed.push_back(Text(*words));
    packed.push_back(nullptr);
    return Add(packed.data(), packed.size());
  }
  std::string Finish(const FlatSpec& spec) {
    memcpy(bytes_.data(), &spec, sizeof(spec));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

}  // namespace

std::vector<const char*> Pointers(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<FlatStep> Flatten(const std::vector<backend::Step>& steps) {
  std::vector<FlatStep> flat;
  flat.reserve(steps.size());
  for (const backend::Step& step : steps) {
    flat.push_back({step.op, step.slot, step.from, step.path.c_str(), step.data.c_str(),
                    step.data.size(), step.value, step.value2, step.identity});
  }
  return flat;
}

Flat::Flat(const backend::ChildSpec& spec) : steps_(Flatten(spec.steps)) {
  for (const backend::LandlockRule& rule : spec.landlock.rules) {
    rules_.push_back({rule.path.c_str(), rule.access, rule.optional});
  }
  words_ = {"cordon-init", "-" + spec.init_options, spec.program};
  words_.insert(words_.end(), spec.argv.begin(), spec.argv.end());
  argv_ = Pointers(words_);
  environment_ = Pointers(spec.environment);
  flat_ = {.steps = steps_.data(),
           .step_count = steps_.size(),
           .rules = rules_.data(),
           .rule_count = rules_.size(),
           .handled_fs = spec.landlock.handled_fs,
           .handled_net = spec.landlock.handled_net,
           .scoped = spec.landlock.scoped,
           .filter = spec.seccomp.instructions,
           .filter_size = spec.seccomp.size,
           .init_argv = argv_.data(),
           .environment = environment_.data()};
}

std::string Pack(const FlatSpec& spec) {
  Packer packer;
  FlatSpec packed = spec;
  std::vector<FlatStep> steps(spec.steps, spec.steps + spec.step_count);
  for (FlatStep& step : steps) {
    step.path = packer.Text(step.path);
    step.data = packer.Text({step.data, step.size});
  }
  std::vector<FlatRule> rules(spec.rules, spec.rules + spec.rule_count);
  for (FlatRule& rule : rules) rule.path = packer.Text(rule.path);
  packed.steps = packer.Add(steps.data(), steps.size());
  packed.rules = packer.Add(rules.data(), rules.size());
  packed.filter = packer.Add(spec.filter, spec.filter_size);
  packed.init_argv = packer.Words(spec.init_argv);
  packed.environment = packer.Words(spec.environment);
  return packer.Finish(packed);
}

}  // namespace cordon::spawn
