#include "agent/line_pattern.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::agent {
namespace {

constexpr size_t kLongest = 1000;
// All counts of {n} multiplied: what a small pattern may grow to.
constexpr long kMostRepeated = 1000;
constexpr size_t kLongestLine = 64 * 1024;

Error Bad(std::string_view pattern, std::string_view why) {
  return base::InvalidArgument(Reason::kArgumentInvalid,
                               "the pattern \"" + base::Printable(pattern.substr(0, 80)) +
                                   "\" is refused: " + std::string(why));
}

// \d, and no references back, for which matching may take forever.
Result<std::string> Translate(std::string_view pattern) {
  std::string result;
  long repeated = 1;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '{' && i + 1 < pattern.size() &&
        std::isdigit(static_cast<unsigned char>(pattern[i + 1]))) {
      size_t close = pattern.find('}', i);
      std::string_view counts = pattern.substr(i + 1, close - i - 1);
      size_t comma = counts.find(',');
      std::string_view most = comma == counts.npos ? counts : counts.substr(comma + 1);
      long count = 1;
      std::from_chars(counts.data(), counts.data() + counts.size(), count);
      long last = count;
      std::from_chars(most.data(), most.data() + most.size(), last);
      repeated *= std::max({count, last, 1L});
      if (repeated > kMostRepeated) return Bad(pattern, "it repeats too often");
    }
    if (c != '\\' || i + 1 == pattern.size()) {
      result += c;
      continue;
    }
    char next = pattern[++i];
    if (std::isdigit(static_cast<unsigned char>(next))) {
      return Bad(pattern, "it refers back to a group");
    }
    if (next == 'd') {
      result += "[0-9]";
    } else if (next == 'D') {
      result += "[^0-9]";
    } else if (next == 't') {
      result += '\t';
    } else {
      result += {'\\', next};
    }
  }
  return result;
}

}  // namespace

Result<LinePattern> LinePattern::Compile(std::string_view pattern, Case letters) {
  if (pattern.empty()) return Bad(pattern, "it is empty");
  if (pattern.size() > kLongest) return Bad(pattern, "it is too long");
  CORDON_ASSIGN_OR_RETURN(std::string translated, Translate(pattern));
  auto* regex = new regex_t;
  int flags = REG_EXTENDED | REG_NOSUB | (letters == Case::kInsensitive ? REG_ICASE : 0);
  int failed = regcomp(regex, translated.c_str(), flags);
  if (failed != 0) {
    std::array<char, 200> text{};
    regerror(failed, regex, text.data(), text.size());
    delete regex;
    return Bad(pattern, text.data());
  }
  LinePattern compiled;
  compiled.regex_.reset(regex);
  return compiled;
}

bool LinePattern::Matches(std::string_view line) const {
  line = line.substr(0, kLongestLine);
  regmatch_t range{0, static_cast<regoff_t>(line.size())};
  return regexec(regex_.get(), line.data(), 1, &range, REG_STARTEND) == 0;
}

}  // namespace cordon::agent
