#include "guard/secrets/assignment.h"

#include <cctype>
#include <cstddef>

namespace cordon::guard {
namespace {

constexpr size_t kLongestName = 64;

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
  at = Skip(text, at, " \t'\"\\])`", 4);
  size_t behind = SkipOperator(text, at);
  if (behind == at) return std::nullopt;
  at = Skip(text, behind, " \t=", 8);
  size_t opened = Skip(text, at, "'\"`\\(@", 4);
  found.quoted = text.substr(at, opened - at).find_first_of("'\"`") != std::string_view::npos;
  found.value = SkipScheme(text, opened);
  return found;
}

bool IsValueEnd(std::string_view text, size_t at) {
  return at >= text.size() || std::string_view(" \t\r\n'\"`;,<&)]}\\|#").contains(text[at]);
}

}  // namespace cordon::guard
