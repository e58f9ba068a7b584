// The lists that "@name" means, compiled in from /presets/hosts.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon::policy {

// With the "@", sorted.
std::vector<std::string> HostListNames();

// Whether there is such a list; an unknown name is kPolicyBadValue with a hint.
Status CheckHostList(std::string_view name);

// The patterns of "@name", those of the lists inside it too, each once.
Result<std::vector<std::string>> ExpandHostList(std::string_view name);

// The patterns that one text of net.allow means: its list's, or itself.
Result<std::vector<std::string>> ExpandHosts(std::string_view text);

}  // namespace cordon::policy
