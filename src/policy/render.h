// A Policy as text that reads back as the same Policy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"

namespace cordon::policy {

// A string of TOML or JSON. Bytes that are not UTF-8 cannot be written in either
// and are shown as \xNN.
std::string Quote(std::string_view text);

// TOML with one value a line and where it came from behind it:
//   "/home/u/.ssh",  # preset workspace:14
// Values that are the default are left out. Lists are written as
// `{ only = [...] }` never: the text is meant to be read onto an empty Policy.
std::string RenderToml(const Policy& policy);

// The same as JSON, without the places.
std::string RenderJson(const Policy& policy);

// What `b` has that `a` has not and the other way round, one line each:
// "+ fs.write /srv", "- net.mode none". Empty when they are equal.
std::vector<std::string> Diff(const Policy& a, const Policy& b);

}  // namespace cordon::policy
