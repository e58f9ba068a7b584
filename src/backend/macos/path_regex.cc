// Runs in: supervisor. Pure.
#include "backend/macos/path_regex.h"

#include <bitset>

#include "base/strings.h"

namespace cordon::backend {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void AppendByte(char c, Case letters, std::string& regex) {
  if (letters == Case::kAny && IsLetter(c)) {
    regex += {'[', static_cast<char>(c | 0x20), static_cast<char>(c & ~0x20), ']'};
    return;
  }
  constexpr std::string_view kSpecial = R"(\.[{()*+?^$|)";
  if (kSpecial.find(c) != std::string_view::npos) regex += '\\';
  regex += c;
}

struct ByteSet {
  std::bitset<256> members;
  bool negated = false;
  size_t length = 0;  // of the text, brackets and all; 0: it is no set
};

// As guard::GlobMatch reads it: `text` begins with the bracket.
ByteSet ReadSet(std::string_view text) {
  ByteSet set;
  size_t i = 1;
  set.negated = i < text.size() && (text[i] == '!' || text[i] == '^');
  if (set.negated) ++i;
  for (size_t first = i; i < text.size(); ++i) {
    if (text[i] == ']' && i > first) {
      set.length = i + 1;
      return set;
    }
    auto low = static_cast<unsigned char>(text[i]), high = low;
    if (i + 2 < text.size() && text[i + 1] == '-' && text[i + 2] != ']') {
      high = static_cast<unsigned char>(text[i + 2]);
      i += 2;
    }
    for (unsigned c = low; c <= high; ++c) set.members.set(c);
  }
  return set;
}

// A bracket expression: `]` is a member where it stands first, `-` where it stands
// last, `^` where it does not stand first, and a doubled backslash is one whether
// or not it escapes.
std::string RegexOfSet(const ByteSet& set) {
  if (!set.negated && set.members.count() == 1) {
    for (unsigned c = 0; c < 256; ++c) {
      if (set.members.test(c)) return RegexOf(std::string(1, static_cast<char>(c)), Case::kExact);
    }
  }
  auto has = [&](char c) { return set.members.test(static_cast<unsigned char>(c)); };
  std::string members;
  if (has(']')) members += ']';
  if (set.negated) members += '/';
  for (unsigned c = 1; c < 256; ++c) {
    char byte = static_cast<char>(c);
    if (!set.members.test(c) || std::string_view("]/\\^-").find(byte) != std::string_view::npos)
      continue;
    members += byte;
  }
  if (has('\\')) members += "\\\\";
  if (has('^') && members.empty()) return "[-^]";
  if (has('^')) members += '^';
  if (has('-')) members += '-';
  if (members.empty()) return "//";  // nothing in a path: two slashes never stand there
  return (set.negated ? "[^" : "[") + members + "]";
}

std::string RegexOfComponent(std::string_view part) {
  // No name is empty, but "/" has none.
  if (part.find_first_not_of('*') == std::string_view::npos) return "[^/]+";
  std::string regex;
  for (size_t i = 0; i < part.size();) {
    ByteSet set = part[i] == '[' ? ReadSet(part.substr(i)) : ByteSet();
    if (set.length != 0) {
      regex += RegexOfSet(set);
      i += set.length;
      continue;
    }
    if (part[i] == '*') {
      regex += "[^/]*";
    } else if (part[i] == '?') {
      regex += "[^/]";
    } else {
      AppendByte(part[i], Case::kExact, regex);
    }
    ++i;
  }
  return regex;
}

}  // namespace

std::string RegexOf(std::string_view text, Case letters) {
  std::string regex;
  for (char c : text) AppendByte(c, letters, regex);
  return regex;
}

std::string RegexOfGlob(std::string_view pattern) {
  std::string regex;
  bool everything = pattern != "/";  // "/" itself is matched by "/**" alone
  for (const std::string& part : base::Split(pattern, '/')) {
    if (part.empty()) continue;
    everything = everything && part == "**";
    regex += part == "**" ? "(/[^/]+)*" : "/" + RegexOfComponent(part);
  }
  if (everything) return "/.*";
  return regex.empty() ? "/" : regex;
}

}  // namespace cordon::backend
