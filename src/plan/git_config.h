// What a git configuration file says, as far as the floor needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordon::plan {

// Every value of `key` in sections named `section`, whatever their subsection
// ([include], [includeIf "…"]). Names in lower case; quotes are taken off.
std::vector<std::string> GitConfigValues(std::string_view text, std::string_view section,
                                         std::string_view key);

}  // namespace cordon::plan
