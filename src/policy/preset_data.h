// What tools/generate_presets.cc writes at build time from /presets/*.toml.
#pragma once

#include <span>
#include <string_view>

#include "policy/document.h"

namespace cordon::policy {

struct PresetData {
  std::string_view name;
  std::string_view text;
  std::span<const FlatNode> nodes;
};
std::span<const PresetData> PresetTable();
std::span<const FlatNode> HostListData();  // of hosts.toml

}  // namespace cordon::policy
