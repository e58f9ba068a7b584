// Runs in: supervisor. Pure.
//
// Paths and globs as the regular expressions of a Seatbelt profile (extended
// ones, over the bytes of a path).
#pragma once

#include <string>
#include <string_view>

namespace cordon::backend {

enum class Case { kExact, kAny };

// Matches `text` and nothing else; no anchors.
std::string RegexOf(std::string_view text, Case letters);

// Matches what guard::GlobMatch does; no anchors.
std::string RegexOfGlob(std::string_view pattern);

}  // namespace cordon::backend
