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

constexpr std::array<std::string_view, 24> kPlaceholders = {
    "example", "xxxxx",    "placeholder", "changeme", "change_me", "change-me",
    "your_",   "your-",    "yourtoken",   "yourkey",  "yourapi",   "dummy",
    "insert",  "redacted", "abcdefgh",    "01234567", "12345678",  "...",
    "*****",   "-here",    "_here",       "______",   "replace",   "foobar"};

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

// The pairs of letters that make up most of the text of languages and programs.
constexpr std::string_view kPairs =
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le "
    "ve co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec "
    "pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na "
    "ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab "
    "gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ov rm ep tt oc cu rn sc "
    "gi da cr cl du ga qu ue ff ba ey va um pp up lu ck au br ";

constexpr std::array<bool, 1024> MakePairs() {
  std::array<bool, 1024> table{};
  for (size_t i = 0; i + 1 < kPairs.size(); i += 3) {
    table[static_cast<size_t>((kPairs[i] & 31) << 5 | (kPairs[i + 1] & 31))] = true;
  }
  return table;
}

constexpr std::array<bool, 1024> kCommonPair = MakePairs();

// Whether more than the share `most` of the letters that stand side by side are such pairs.
// In words about two thirds are, in what is random about a quarter.
bool IsOfWords(std::string_view text, double most) {
  size_t pairs = 0;
  size_t common = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i - 1])) == 0 ||
        std::isalpha(static_cast<unsigned char>(text[i])) == 0) {
      continue;
    }
    if (std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i])) != 0) {
      continue;  // of these six letters, any two make a pair
    }
    ++pairs;
    common += kCommonPair[static_cast<size_t>((text[i - 1] & 31) << 5 | (text[i] & 31))] ? 1 : 0;
  }
  return static_cast<double>(common) > most * static_cast<double>(pairs) + 1;
}

// Names of algorithms: as mixed as what is random.
constexpr std::array<std::string_view, 5> kAlgorithms = {"sha256", "sha512", "sha1", "hmac",
                                                         "aes_"};

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
    size_t end = std::min(text.find_first_of("._:/+-", begin), text.size());
    if (end - begin > longest.size()) longest = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace

bool LooksRandom(std::string_view text, double most_words) {
  if (LongestPart(text).size() < std::min<size_t>(9, text.size())) return false;
  std::array<size_t, 4> counts{};
  for (char c : text) ++counts[static_cast<size_t>(Class(c))];
  size_t letters = counts[0] + counts[1];
  size_t digits = counts[2];
  if (letters == 0 || (text.front() == '/' && text.find('/', 1) != std::string_view::npos) ||
      text.starts_with("./") || text.starts_with("~/") || text.contains("//")) {
    return false;
  }
  // With no digit at all it must be a mix of small letters and capitals.
  if (digits == 0) return Changes(text) >= 0.06 && !IsOfWords(text, most_words - 0.15);
  return Changes(text) >= 0.05 && !IsOfWords(text, most_words) &&
         !HoldsAny(Lower(text), kAlgorithms);
}

bool IsHarmlessName(std::string_view name) { return HoldsAny(Lower(name), kHarmless); }

}  // namespace cordon::guard
