// What must not be given to toml11.
#pragma once

#include <string_view>

namespace cordon::base {

inline constexpr int kMaxTomlDepth = 64;

// toml11 recurses once per bracket and per dotted key, and overflows on a long binary
// number. This looks for both, skipping strings and comments. Empty if there is none.
std::string_view FindTomlHazard(std::string_view text);

}  // namespace cordon::base
