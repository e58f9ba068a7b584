#include "cli/policy_watch.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/output.h"
#include "plan/net_plan.h"

namespace cordon::cli {
namespace {

std::string Stamp(const std::string& file, const std::string& before) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0 && errno != ENOENT) return before;
  return fmt::format("{} {} {} {}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

class NetRulesWatch {
 public:
  NetRulesWatch(PolicyFlags flags, LoadedPolicy first)
      : flags_(std::move(flags)), first_(std::move(first)), files_(FilesOf(first_)) {}

  std::optional<guard::NetRules> Look() {
    if (!files_.Changed()) return std::nullopt;
    auto rules = Read();
    if (!rules) {
      PrintError(std::move(rules).error().Within("the last good policy stays"));
      return std::nullopt;
    }
    Tell("cordon: policy read anew\n");
    return std::move(*rules);
  }

 private:
  static std::vector<std::string> FilesOf(const LoadedPolicy& loaded) {
    std::vector<std::string> files = loaded.files;
    const policy::LayerInputs& layers = loaded.layers;
    if (layers.admin) files.push_back(layers.admin->name);
    for (size_t i = 0; i + loaded.files.size() < layers.user_and_files.size(); ++i) {
      files.push_back(layers.user_and_files[i].name);
    }
    return files;
  }

  Result<guard::NetRules> Read() {
    auto loaded = LoadPolicyAgain(flags_, first_);
    if (loaded) return plan::ReplanNetRules(first_.policy, loaded->policy);
    Error error = std::move(loaded).error();
    if (error.sys_errno == EACCES) {
      error.hint = "the run goes on as user " + std::to_string(geteuid()) +
                   ", who may not read it; the next run has the new policy";
    }
    return error;
  }

  PolicyFlags flags_;
  LoadedPolicy first_;
  FileWatch files_;
};

}  // namespace

FileWatch::FileWatch(std::vector<std::string> files) : files_(std::move(files)) {
  for (const std::string& file : files_) stamps_.push_back(Stamp(file, ""));
}

bool FileWatch::Changed() {
  bool changed = false;
  for (size_t i = 0; i < files_.size(); ++i) {
    std::string now = Stamp(files_[i], stamps_[i]);
    changed = std::exchange(stamps_[i], now) != now || changed;
  }
  return changed;
}

std::function<std::optional<guard::NetRules>()> WatchNetRules(const PolicyFlags& flags,
                                                              const LoadedPolicy& first) {
  NetMode mode = first.policy.net.mode;
  bool decides =
      (mode == NetMode::kProxy || mode == NetMode::kPublic) && !first.policy.net.external;
  bool any = first.layers.admin || !first.layers.user_and_files.empty();
  if (!decides || !any) return nullptr;
  auto watch = std::make_shared<NetRulesWatch>(flags, first);
  return [watch] { return watch->Look(); };
}

}  // namespace cordon::cli
