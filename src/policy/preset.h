// The presets that are compiled into the binary, from /presets/*.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "cordon/result.h"
#include "policy/values.h"

namespace cordon::policy {

inline constexpr std::string_view kDefaultPreset = "workspace";

// In the order of the documentation.
std::vector<std::string> PresetNames();
// The TOML of a preset, as it lies in /presets; empty if there is none.
std::string_view PresetText(std::string_view name);
// Whether `name` only changes what it extends: public-net, open-net.
bool IsModifier(std::string_view name);

// A preset by itself; a modifier extends the empty policy. An unknown name is
// kPolicyBadValue with a hint.
Result<Policy> Preset(std::string_view name, const Context& context);

// The presets of one layer: at most one that is not a modifier, and that
// first; modifiers alone extend the default preset, as does an empty list.
Result<Policy> Presets(const std::vector<std::string>& names, const Context& context);

}  // namespace cordon::policy
