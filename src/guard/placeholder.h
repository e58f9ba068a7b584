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
// "ghp_Co00…". What comes before the first 8 bytes' last '-' or '_' is kept where
// the secret is long: it names the kind of key. `number` makes the placeholders
// of secrets of one form differ. Nothing for a secret that is too short, or that
// has no letters and digits to change.
std::optional<std::string> PlaceholderFor(std::string_view secret, size_t number);

}  // namespace cordon::guard
