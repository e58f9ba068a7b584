#include "guard/secrets/assignment.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace cordon::guard {
namespace {

constexpr size_t kLongestName = 64;
constexpr size_t kLongestValue = 1024;

bool IsNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

size_t Skip(std::string_view text, size_t at, std::string_view bytes, size_t most) {
  size_t end = at + most;
  while (at < text.size() && at < end && bytes.contains(text[at])) ++at;
  return at;
}

// "=", ":", ":=", "=>", "?=", "||=", "==", ">" (of <key>value</key>), ","
size_t SkipOperator(std::string_view text, size_t at) {
  size_t end = Skip(text, at, ":=>?|,", 3);
  return end > at && text.substr(at, end - at).find_first_of("=:>,") != std::string_view::npos ? end
                                                                                               : at;
}

// The letters in front of a string: b"…", u'…', @"…".
size_t SkipPrefix(std::string_view text, size_t at) {
  bool prefix = at + 1 < text.size() && std::string_view("bBuUrRfFL@").contains(text[at]) &&
                std::string_view("'\"`").contains(text[at + 1]);
  return prefix ? at + 1 : at;
}

bool IsQuote(char c) { return c == '\'' || c == '"' || c == '`'; }

// With no operator: `#define NAME "value"`, `name('value')`, `--name value`. The name ends at
// `to`, words behind it at `at`. Where the value or its quote starts, or 0.
size_t GivenDirectly(std::string_view text, std::string_view name, size_t to, size_t at) {
  if (to + 1 >= text.size()) return 0;
  if (text[to] == '(' && IsQuote(text[to + 1])) return to + 1;
  if (name.starts_with("--") && text[to] == ' ') return to + 1;
  return at > to && at < text.size() && IsQuote(text[at]) && text[at - 1] == ' ' ? at : 0;
}

size_t SkipScheme(std::string_view text, size_t at) {
  for (std::string_view scheme : {"Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token "}) {
    if (text.substr(at, scheme.size()) == scheme) return at + scheme.size();
  }
  return at;
}

}  // namespace

std::optional<Assignment> ParseAssignment(std::string_view text, size_t begin, size_t end) {
  size_t from = begin;
  while (from > 0 && begin - from < kLongestName && IsNameByte(text[from - 1])) --from;
  size_t to = end;
  while (to < text.size() && to - end < kLongestName && IsNameByte(text[to])) ++to;
  Assignment found{.name = text.substr(from, to - from)};

  // "var api_key string = …", "api_key (prod): …"
  size_t at = to;
  while (at < text.size() && at - to < 20 &&
         (IsNameByte(text[at]) || text[at] == ' ' || text[at] == '\t')) {
    ++at;
  }
  size_t closed = Skip(text, at, " \t'\"\\])`", 4);
  size_t behind = SkipOperator(text, closed);
  if (behind == closed) {
    at = GivenDirectly(text, found.name, to, at);
    if (at == 0) return std::nullopt;
    found.loose = !found.name.starts_with("--") || found.name.ends_with('s');
  } else {
    at = Skip(text, behind, " \t=\r\n", 24);
    found.loose = text.substr(behind, at - behind).contains('\n');
  }
  size_t opened = SkipPrefix(text, at);
  opened = Skip(text, opened, " '\"`\\(@[", 4);
  bool quoted = text.substr(at, opened - at).find_first_of("'\"`") != std::string_view::npos;
  found.value = SkipScheme(text, opened);
  std::string_view ends = quoted ? "'\"`\\ \t\r\n" : " \t\r\n'\"`;,<&)]}\\|#";
  size_t most = std::min(text.size(), found.value + kLongestValue);
  found.value_end = found.value;
  while (found.value_end < most && !ends.contains(text[found.value_end])) ++found.value_end;
  return found;
}

}  // namespace cordon::guard
