// Small text helpers with no OS words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::base {

std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// Text for a terminal or a one-line message: control characters, DEL and bytes
// that are not valid UTF-8 become \xNN, so that a hostile name cannot speak to
// the terminal.
std::string Printable(std::string_view text);

// The longest prefix of at most `limit` bytes that does not cut a UTF-8
// sequence in two.
std::string_view Utf8Prefix(std::string_view text, size_t limit);
// How many bytes at the end are the beginning of a sequence that is not complete.
size_t IncompleteUtf8Tail(std::string_view text);
bool IsValidUtf8(std::string_view text);

// The candidate nearest to `word` by edit distance, if it is near enough to be
// meant ("did you mean").
std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace cordon::base
