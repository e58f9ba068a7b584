#include "guard/placeholder.h"

#include <algorithm>

namespace cordon::guard {
namespace {

constexpr size_t kLongEnough = 12;  // what a secret still has behind its prefix
constexpr std::string_view kLower = "cordonplaceholder";
constexpr std::string_view kUpper = "CORDONPLACEHOLDER";

// They say which service a key is for, and programs look for them; nobody chose
// them to be secret. A longer one stands before those that it begins with.
constexpr std::string_view kPrefixes[] = {
    "github_pat_", "ghp_",  "gho_",  "ghu_",     "ghs_",     "ghr_",     "glpat-",   "sk-ant-",
    "sk-proj-",    "sk-",   "gsk_",  "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_",
    "pk_test_",    "xoxb-", "xoxp-", "xoxa-",    "xapp-",    "xai-",     "npm_",     "pypi-",
    "hf_",         "AKIA",  "ASIA",  "AIza",     "ya29.",    "dop_v1_",  "SG.",      "lin_api_"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

size_t PrefixOf(std::string_view secret) {
  for (std::string_view prefix : kPrefixes) {
    if (secret.starts_with(prefix) && secret.size() - prefix.size() >= kLongEnough) {
      return prefix.size();
    }
  }
  return 0;
}

// What stands for `c` at the place `at` of the words above.
char InForm(char c, size_t at, size_t number) {
  if (IsDigit(c)) return static_cast<char>('0' + number % 10);
  if (IsUpper(c)) return kUpper[at];
  if (IsLower(c) || c == '+' || c == '/') return kLower[at];  // the last two: of base64
  // What parts a key ("-", the dots of a JWT) or ends base64 is not the secret of it.
  return c == '_' || c == '.' || c == '=' ? c : '-';
}

std::string Made(std::string_view secret, size_t number, auto form) {
  size_t prefix = PrefixOf(secret);
  std::string made(secret);
  for (size_t i = prefix; i < made.size(); ++i) {
    made[i] = form(made[i], (i - prefix + number) % kLower.size(), number);
  }
  return made;
}

bool SaysLittle(std::string_view secret, std::string_view made) {
  size_t prefix = PrefixOf(secret), differ = 0;
  for (size_t i = prefix; i < made.size(); ++i) differ += made[i] != secret[i] ? 1 : 0;
  return differ * 3 >= (made.size() - prefix) * 2;
}

}  // namespace

std::optional<std::string> PlaceholderFor(std::string_view secret, size_t number) {
  if (secret.size() < kShortestSecret) return std::nullopt;
  std::string made = Made(secret, number, InForm);
  if (SaysLittle(secret, made)) return made;
  // Mostly signs, or our own words: form does not matter as much as that.
  made = Made(secret, number, [](char, size_t at, size_t) { return kLower[at]; });
  if (SaysLittle(secret, made)) return made;
  return std::nullopt;
}

}  // namespace cordon::guard
