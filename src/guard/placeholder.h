// What stands inside for a secret that stays outside.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::guard {

// A secret that is shorter cannot be told from other text.
inline constexpr size_t kShortestSecret = 8;

// Of the same length, with the same kinds of characters in the same places, so
// that programs which check the form of a key take it: "ghp_Ab12…" becomes
// "ghp_Co00…". Of a long secret the prefix is kept where it is one that services
// are known to give out. Most of what follows differs: a secret that is mostly
// signs is not copied, its placeholder is of letters. `number` makes the placeholders
// of secrets of one form differ. Nothing for a secret that is too short, or that is
// a placeholder.
std::optional<std::string> PlaceholderFor(std::string_view secret, size_t number);

}  // namespace cordon::guard
