// Rules made ready to be used.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "guard/secrets/default_rules.h"
#include "guard/secrets/known.h"
#include "guard/secrets/rule_file.h"
#include "guard/secrets/scanner.h"

struct hs_database;
namespace re2 {
class RE2;
}

namespace cordon::guard {

// Compiled when it is first asked for: a scan needs few of the rules' expressions.
class LazyRegex {
 public:
  explicit LazyRegex(std::string_view pattern = {});
  ~LazyRegex();

  bool empty() const { return pattern_.empty(); }
  std::string_view pattern() const { return pattern_; }
  // Whether it compiles, and what is wrong with it if not.
  Status Check() const;
  const re2::RE2& get() const;
  bool Matches(std::string_view text) const;

 private:
  std::string_view pattern_;  // outlived by who holds the text
  mutable std::once_flag once_;
  mutable std::unique_ptr<const re2::RE2> regex_;
};

struct AllowRule {
  explicit AllowRule(const AllowSpec& from);
  AllowSpec spec;
  std::deque<LazyRegex> regexes;
  std::deque<LazyRegex> paths;
};

struct SecretRule {
  // Ours go first where two rules find the same: they are the narrower.
  enum class Source { kOurs, kFile };

  // The texts of the expressions must outlive the rule.
  SecretRule(std::string_view regex_text, std::string_view path_text, std::string_view but_not_text)
      : regex(regex_text), path(path_text), but_not(but_not_text) {}

  std::string_view id;
  std::string_view description;
  RuleSpec::Kind kind = RuleSpec::Kind::kPattern;
  Source source = Source::kOurs;
  LazyRegex regex;
  LazyRegex path;
  LazyRegex but_not;
  int secret_group = 0;
  double entropy = 0;
  bool random = false;
  bool whole_text = false;          // its keyword may be anywhere, not only where it matches
  std::list<AllowRule> allow;       // a list takes no memory when it is empty
  std::span<const Piece> prefixes;  // keywords of ours: what a preview may show

  bool IsGeneric() const { return id.starts_with("generic-"); }
};

// A keyword of a rule file and the rules that ask for it.
struct FileKeyword {
  std::string folded;  // lower case
  std::vector<uint32_t> rules;
};

struct DatabaseDeleter {
  void operator()(hs_database* database) const;
};

struct SecretRuleData {
  std::unique_ptr<hs_database, DatabaseDeleter> database;  // the keywords of our rules
  std::deque<SecretRule> rules;  // ours first, by their number in the generated table
  std::vector<uint8_t> enabled;
  std::vector<uint32_t> run_rules;
  std::vector<uint32_t> path_rules;   // a path and no text
  std::vector<uint32_t> everywhere;   // of files, with no keyword: searched in all text
  std::vector<FileKeyword> keywords;  // of files
  // By their first two bytes.
  std::array<uint64_t, 1024> keyword_pairs{};
  std::unordered_multimap<uint32_t, uint32_t> keywords_by_pair;
  std::deque<AllowRule> allow;
  KnownSecrets known;
  std::deque<RuleSpec> specs;  // of files: what the views above look at
};

}  // namespace cordon::guard
