#include "policy/preset.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "policy/preset_data.h"
#include "policy/reader.h"

namespace cordon::policy {
namespace {

const PresetData* Find(std::string_view name) {
  auto table = PresetTable();
  auto found = std::find_if(table.begin(), table.end(),
                            [&](const PresetData& data) { return data.name == name; });
  return found == table.end() ? nullptr : &*found;
}

Error UnknownPreset(std::string_view name) {
  Error error = BadValue("one of " + base::Join(PresetNames(), " "), name);
  if (auto near = base::Nearest(name, PresetNames())) {
    error.hint = "did you mean \"" + *near + "\"?";
  }
  return std::move(error).Within("preset");
}

Result<Policy> Extend(std::string_view name, const Context& context, Policy base) {
  const PresetData* data = Find(name);
  if (data == nullptr) return UnknownPreset(name);
  std::string source = "preset " + std::string(name);
  Node root = Unflatten(data->nodes);
  CORDON_ASSIGN_OR_RETURN(auto bases, PresetsIn(root, source));
  for (const std::string& from : bases) {
    CORDON_ASSIGN_OR_RETURN(base, Extend(from, context, std::move(base)));
  }
  return ReadNode(root, source, context, std::move(base));
}

}  // namespace

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const PresetData& data : PresetTable()) names.emplace_back(data.name);
  return names;
}

std::string_view PresetText(std::string_view name) {
  const PresetData* data = Find(name);
  return data == nullptr ? std::string_view() : data->text;
}

bool IsModifier(std::string_view name) { return name == "public-net" || name == "open-net"; }

Result<Policy> Preset(std::string_view name, const Context& context) {
  return Extend(name, context, Policy{});
}

Result<Policy> Presets(const std::vector<std::string>& names, const Context& context) {
  bool has_base = !names.empty() && !IsModifier(names.front());
  std::string first = has_base ? names.front() : std::string(kDefaultPreset);
  CORDON_ASSIGN_OR_RETURN(Policy policy, Preset(first, context));
  for (size_t i = has_base ? 1 : 0; i < names.size(); ++i) {
    if (Find(names[i]) == nullptr) return UnknownPreset(names[i]);
    if (!IsModifier(names[i])) {
      return BadValue("a modifier (public-net, open-net) after \"" + first + "\"", names[i])
          .Within("preset");
    }
    CORDON_ASSIGN_OR_RETURN(policy, Extend(names[i], context, std::move(policy)));
  }
  return policy;
}

}  // namespace cordon::policy
