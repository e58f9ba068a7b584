// Makes the rules ready: ours from the generated tables, those of files, known values.
#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/error.h"
#include "guard/secrets/default_rules.h"
#include "guard/secrets/rule.h"
#include "guard/secrets/vectorscan.h"

namespace cordon::guard {
namespace {

re2::RE2::Options RegexOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // input is bytes
  options.set_max_mem(4 << 20);
  return options;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

void AddDefaults(SecretRuleData& data) {
  std::span<const DefaultRule> rules = DefaultRules();
  for (uint32_t i = 0; i < rules.size(); ++i) {
    const DefaultRule& from = rules[i];
    SecretRule& rule = data.rules.emplace_back(DefaultText(from.regex), std::string_view{},
                                               DefaultText(from.but_not));
    rule.id = DefaultText(from.id);
    rule.description = DefaultText(from.description);
    rule.kind = from.kind;
    rule.secret_group = from.secret_group;
    rule.entropy = from.entropy;
    rule.random = from.random;
    rule.prefixes = DefaultPrefixes().subspan(from.prefixes.first, from.prefixes.count);
    if (rule.kind == RuleSpec::Kind::kRun) data.run_rules.push_back(i);
  }
}

Status OpenDatabase(SecretRuleData& data) {
  std::string_view bytes = DefaultDatabase();
  hs_database_t* database = nullptr;
  if (ChosenVectorscan().deserialize(bytes.data(), bytes.size(), &database) != HS_SUCCESS) {
    return base::Unsupported("this processor cannot run the secret scanner");
  }
  data.database.reset(database);
  return {};
}

// Which rules each keyword brings up; a keyword of one byte brings up too much to help.
using Keywords = std::map<std::string, std::vector<uint32_t>>;

Status CheckRegexes(const SecretRule& rule, const std::string& where) {
  std::vector<const LazyRegex*> regexes = {&rule.regex, &rule.path, &rule.but_not};
  for (const AllowRule& allow : rule.allow) {
    for (const LazyRegex& regex : allow.regexes) regexes.push_back(&regex);
    for (const LazyRegex& regex : allow.paths) regexes.push_back(&regex);
  }
  for (const LazyRegex* regex : regexes) {
    Status fine = regex->Check();
    if (!fine) return std::move(fine).error().Within(where);
  }
  return {};
}

Status AddRule(const RuleSpec& spec, const std::string& file, SecretRuleData& data,
               Keywords& keywords) {
  auto number = static_cast<uint32_t>(data.rules.size());
  SecretRule& rule = data.rules.emplace_back(spec.regex, spec.path, spec.but_not);
  rule.id = spec.id;
  rule.description = spec.description;
  rule.kind = spec.kind;
  rule.source = SecretRule::Source::kFile;
  rule.secret_group = spec.secret_group;
  rule.entropy = spec.entropy;
  rule.random = spec.random;
  for (const AllowSpec& allow : spec.allow) rule.allow.emplace_back(allow);
  CORDON_TRY(CheckRegexes(rule, file + ": rule " + spec.id));
  if (!rule.regex.empty() && rule.regex.get().NumberOfCapturingGroups() < spec.secret_group) {
    return base::InvalidArgument(Reason::kUsage, fmt::format("{}: rule {}: it has no group {}",
                                                             file, spec.id, spec.secret_group));
  }
  if (spec.regex.empty()) {
    data.path_rules.push_back(number);
    return {};
  }
  std::string regex = Lower(spec.regex);
  bool everywhere = spec.keywords.empty();
  for (const std::string& keyword : spec.keywords) {
    everywhere = everywhere || keyword.size() < 2;
    // A keyword that the expression does not hold may be far from the match.
    if (!regex.contains(Lower(keyword))) rule.whole_text = true;
  }
  if (everywhere) {
    data.everywhere.push_back(number);
  } else {
    for (const std::string& keyword : spec.keywords) keywords[Lower(keyword)].push_back(number);
  }
  return {};
}

void Disable(const std::vector<std::string>& ids, SecretRuleData& data) {
  for (uint32_t i = 0; i < data.rules.size(); ++i) {
    if (std::find(ids.begin(), ids.end(), data.rules[i].id) != ids.end()) data.enabled[i] = 0;
  }
}

void IndexKeywords(const Keywords& keywords, SecretRuleData& data) {
  for (const auto& [text, rules] : keywords) {
    uint32_t pair =
        static_cast<uint32_t>(static_cast<uint8_t>(text[0])) << 8 | static_cast<uint8_t>(text[1]);
    data.keyword_pairs[pair >> 6] |= uint64_t{1} << (pair & 63);
    data.keywords_by_pair.emplace(pair, static_cast<uint32_t>(data.keywords.size()));
    data.keywords.push_back({text, rules});
  }
}

Status AddAllow(const AllowSpec& spec, const std::string& where, SecretRuleData& data) {
  AllowRule& allow = data.allow.emplace_back(spec);
  for (const std::deque<LazyRegex>* regexes : {&allow.regexes, &allow.paths}) {
    for (const LazyRegex& regex : *regexes) {
      Status fine = regex.Check();
      if (!fine) return std::move(fine).error().Within(where);
    }
  }
  return {};
}

Status AddFile(const SecretRuleFile& file, const RuleFileSpec& spec, SecretRuleData& data,
               Keywords& keywords) {
  for (const RuleSpec& rule : spec.rules) {
    data.specs.push_back(rule);
    CORDON_TRY(AddRule(data.specs.back(), file.name, data, keywords));
  }
  for (const AllowSpec& allow : spec.allow) {
    CORDON_TRY(AddAllow(allow, file.name + ": allowlist", data));
  }
  return {};
}

}  // namespace

LazyRegex::LazyRegex(std::string_view pattern) : pattern_(pattern) {}
LazyRegex::~LazyRegex() = default;

const re2::RE2& LazyRegex::get() const {
  std::call_once(once_, [this] {
    regex_ = std::make_unique<const re2::RE2>(re2::StringPiece(pattern_.data(), pattern_.size()),
                                              RegexOptions());
  });
  return *regex_;
}

Status LazyRegex::Check() const {
  if (empty() || get().ok()) return {};
  return base::InvalidArgument(Reason::kUsage, "bad regular expression: " + get().error());
}

bool LazyRegex::Matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), get());
}

AllowRule::AllowRule(const AllowSpec& from) : spec(from) {
  for (const std::string& regex : spec.regexes) regexes.emplace_back(regex);
  for (const std::string& path : spec.paths) paths.emplace_back(path);
  for (std::string& word : spec.stopwords) word = Lower(word);
}

void DatabaseDeleter::operator()(hs_database* database) const {
  ChosenVectorscan().free_database(database);
}

Result<SecretRules> LoadSecretRules(const SecretRuleSources& sources) {
  auto data = std::make_shared<SecretRuleData>();
  std::vector<RuleFileSpec> files;
  bool defaults = sources.defaults == SecretRuleSources::Defaults::kWith;
  for (const SecretRuleFile& file : sources.files) {
    CORDON_ASSIGN_OR_RETURN(RuleFileSpec spec, ReadRuleFile(file.text, file.name));
    defaults = defaults || spec.defaults == RuleFileSpec::Defaults::kExtended;
    files.push_back(std::move(spec));
  }
  if (defaults) {
    AddDefaults(*data);
    CORDON_TRY(OpenDatabase(*data));
  }
  Keywords keywords;
  for (size_t i = 0; i < files.size(); ++i) {
    CORDON_TRY(AddFile(sources.files[i], files[i], *data, keywords));
  }
  IndexKeywords(keywords, *data);
  data->enabled.assign(data->rules.size(), 1);
  // A file's rule stands for ours of the same id.
  for (const RuleSpec& spec : data->specs) {
    for (size_t i = 0; i + data->specs.size() < data->rules.size(); ++i) {
      if (data->rules[i].id == spec.id) data->enabled[i] = 0;
    }
  }
  Disable(sources.disabled, *data);
  for (const RuleFileSpec& file : files) Disable(file.disabled, *data);
  if (!sources.allow.empty()) {
    CORDON_TRY(AddAllow({.regexes = sources.allow}, "allow", *data));
  }
  for (const KnownSecret& secret : sources.known) {
    if (secret.value.size() < KnownSecrets::kMinBytes) {
      return base::InvalidArgument(
          Reason::kUsage, fmt::format("the known secret {} is shorter than {} bytes", secret.name,
                                      KnownSecrets::kMinBytes));
    }
    data->known.Add(secret.name, secret.value);
  }
  return SecretRules(std::move(data));
}

}  // namespace cordon::guard
