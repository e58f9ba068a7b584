#include "guard/placeholder.h"

#include <algorithm>

namespace cordon::guard {
namespace {

constexpr size_t kMostPrefix = 8;
constexpr size_t kLongEnough = 20;  // to say a few bytes of its start
constexpr std::string_view kLower = "cordonplaceholder";
constexpr std::string_view kUpper = "CORDONPLACEHOLDER";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

size_t PrefixOf(std::string_view secret) {
  if (secret.size() < kLongEnough) return 0;
  size_t mark = secret.substr(0, kMostPrefix).find_last_of("-_");
  return mark == secret.npos ? 0 : mark + 1;
}

}  // namespace

std::optional<std::string> PlaceholderFor(std::string_view secret, size_t number) {
  if (secret.size() < kShortestSecret) return std::nullopt;
  std::string made(secret);
  size_t changed = 0;
  for (size_t i = PrefixOf(secret); i < made.size(); ++i, ++changed) {
    size_t at = (changed + number) % kLower.size();
    if (IsDigit(made[i])) {
      made[i] = static_cast<char>('0' + number % 10);
    } else if (IsLower(made[i])) {
      made[i] = kLower[at];
    } else if (IsUpper(made[i])) {
      made[i] = kUpper[at];
    }
  }
  // Few places differ: it would say too much of the secret.
  size_t same = 0;
  for (size_t i = 0; i < made.size(); ++i) same += made[i] == secret[i] ? 1 : 0;
  if (made.size() - same < kShortestSecret / 2) return std::nullopt;
  return made;
}

}  // namespace cordon::guard
