#include "guard/secrets/shape.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

namespace cordon::guard {
namespace {

enum class Letter { kLower, kUpper, kDigit, kOther };

Letter Class(char c) {
  if (c >= 'a' && c <= 'z') return Letter::kLower;
  if (c >= 'A' && c <= 'Z') return Letter::kUpper;
  if (c >= '0' && c <= '9') return Letter::kDigit;
  return Letter::kOther;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

template <size_t N>
bool HoldsAny(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

constexpr std::array<std::string_view, 28> kPlaceholders = {
    "example",  "xxxxx",     "placeholder", "changeme", "change_me", "change-me", "your_",
    "your-",    "yourtoken", "yourkey",     "yourapi",  "dummy",     "insert",    "redacted",
    "abcdefgh", "01234567",  "12345678",    "...",      "*****",     "-here",     "_here",
    "______",   "replace",   "foobar",      "sha256",   "sha512",    "sha1and",   "hmac"};

// Of RFC 5849, 6749 and 7617 and of jwt.io, which many texts quote.
constexpr std::array<std::string_view, 8> kQuoted = {"czZCaGRSa3F0Mz",
                                                     "tGzv3JOkF0XG5Qx2TlKWIA",
                                                     "2YotnFZFEjr1zCsicMWpAA",
                                                     "SplxlOBeZQQYbYS6WxSbIA",
                                                     "0685bd9184jfhq22",
                                                     "7Fjfp0ZBr1KtDRbnfVdmIw",
                                                     "QWxhZGRpbjpvcGVuIHNlc2FtZQ",
                                                     "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"};

constexpr std::array<std::string_view, 44> kHarmless = {
    "public",      "pub_key",   "pubkey",    "primary",    "foreign",   "key_id",   "keyid",
    "key_name",    "keyname",   "keyboard",  "keycode",    "key_code",  "keyword",  "key_size",
    "key_len",     "key_type",  "keytype",   "token_type", "tokentype", "tokeniz",  "token_ur",
    "tokenur",     "csrf",      "author",    "cache",      "monkey",    "keystone", "keyring",
    "sort_key",    "sortkey",   "partition", "bucket",     "hash",      "checksum", "digest",
    "fingerprint", "integrity", "etag",      "revision",   "commit",    "version",  "key_path",
    "keypath",     "label"};

// How often the kind of character changes, a capital that starts a word not counted.
double Changes(std::string_view text) {
  size_t changes = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    Letter before = Class(text[i - 1]);
    Letter now = Class(text[i]);
    if (now != before && !(before == Letter::kUpper && now == Letter::kLower)) ++changes;
  }
  return static_cast<double>(changes) / static_cast<double>(text.size());
}

// The share of letters that stand in words: five or more lower-case letters in a row, with
// vowels about as often as in a language.
double WordShare(std::string_view text) {
  size_t in_words = 0;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    size_t vowels = 0;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0 &&
           (end == i || Class(text[end]) == Class(text[end - 1]) ||
            (end == i + 1 && Class(text[i]) == Letter::kUpper))) {
      if (std::string_view("aeiouyAEIOUY").contains(text[end])) ++vowels;
      ++end;
    }
    size_t length = end - i;
    if (length >= 4 && vowels > 0 && vowels * 5 >= length) in_words += length;
    i = std::max(end, i + 1);
  }
  return static_cast<double>(in_words) / static_cast<double>(text.size());
}

}  // namespace

double Entropy(std::string_view text) {
  if (text.empty()) return 0;
  std::array<uint32_t, 256> counts{};
  for (unsigned char c : text) ++counts[c];
  double sum = 0;
  for (uint32_t count : counts) {
    if (count > 0) sum += count * std::log2(count);
  }
  auto size = static_cast<double>(text.size());
  return std::log2(size) - sum / size;
}

bool LooksLikePlaceholder(std::string_view text) {
  if (text.empty() || text.front() == '<' || text.front() == '{' || text.starts_with("${") ||
      text.starts_with("$(") || text.starts_with("%(")) {
    return true;
  }
  return Entropy(text) < 1.5 || HoldsAny(Lower(text), kPlaceholders) || HoldsAny(text, kQuoted);
}

namespace {

// A name of a program's is made of short words; so are versions, dates and host names.
std::string_view LongestPart(std::string_view text) {
  std::string_view longest;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find_first_of("._:/-", begin), text.size());
    if (end - begin > longest.size()) longest = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace

bool LooksRandom(std::string_view text) {
  if (LongestPart(text).size() < std::min<size_t>(9, text.size())) return false;
  std::array<size_t, 4> counts{};
  for (char c : text) ++counts[static_cast<size_t>(Class(c))];
  size_t letters = counts[0] + counts[1];
  size_t digits = counts[2];
  if (letters == 0 || digits == 0) return false;
  if (text.front() == '/' || text.starts_with("./") || text.starts_with("~/") ||
      text.contains("://") || text.contains("//")) {
    return false;
  }
  if (WordShare(text) > 0.4) return false;
  return Changes(text) >= 0.2;
}

bool IsHarmlessName(std::string_view name) { return HoldsAny(Lower(name), kHarmless); }

}  // namespace cordon::guard
