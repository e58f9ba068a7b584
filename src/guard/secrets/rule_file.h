// Rule files: gitleaks' TOML as it is, and the few keys more that our own rules have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon::guard {

// What is found but is no secret.
struct AllowSpec {
  enum class Target { kSecret, kMatch, kLine };
  enum class Condition { kAny, kAll };

  std::vector<std::string> regexes;
  std::vector<std::string> paths;
  std::vector<std::string> stopwords;
  std::vector<std::string> rules;  // ids it is for; empty: all
  Target target = Target::kSecret;
  Condition condition = Condition::kAny;
};

struct RuleSpec {
  enum class Kind {
    kPattern,   // `regex` is searched for around a keyword
    kAt,        // `regex` is matched where a keyword starts
    kAfter,     // `regex` is matched where a keyword ends
    kAssigned,  // `regex` is the value that a name holding a keyword is given
    kRun,       // `regex` is matched where a long run of letters and digits starts
  };

  std::string id;
  std::string description;
  Kind kind = Kind::kPattern;
  std::string regex;
  std::string path;      // only in files whose path matches
  int secret_group = 0;  // 0: the first group that is not empty, else the match
  double entropy = 0;    // the secret's must be higher, in bits per byte
  std::vector<std::string> keywords;
  // Of our own rules:
  std::string but_not;  // a secret that this matches is none
  bool random = false;  // it must look random, too
  std::vector<AllowSpec> allow;
  std::vector<std::string> positive;  // examples, for the tests
  std::vector<std::string> negative;
};

struct RuleFileSpec {
  enum class Defaults { kExtended, kAlone };
  Defaults defaults = Defaults::kAlone;  // kExtended: [extend] useDefault = true
  std::vector<std::string> disabled;
  std::vector<RuleSpec> rules;
  std::vector<AllowSpec> allow;
};

inline constexpr size_t kMaxRuleFileBytes = 4 << 20;

// Errors say "NAME: rule ID: …". Regular expressions are not looked into here.
Result<RuleFileSpec> ReadRuleFile(std::string_view text, const std::string& name);

}  // namespace cordon::guard
