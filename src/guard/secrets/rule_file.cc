#include "guard/secrets/rule_file.h"

#include <fmt/core.h>

#include <exception>
#include <sstream>
#include <toml.hpp>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "base/toml_hazards.h"

namespace cordon::guard {
namespace {

using Table = toml::table;

// toml11 throws. What is wrong in a file is thrown likewise, and caught in ReadRuleFile.
struct Fault {
  std::string message;
};

const toml::value* Find(const Table& table, std::string_view key) {
  auto found = table.find(std::string(key));
  return found == table.end() ? nullptr : &found->second;
}

std::string Text(const Table& table, std::string_view key) {
  const toml::value* value = Find(table, key);
  if (value == nullptr) return {};
  if (!value->is_string()) throw Fault{fmt::format("{} is not a string", key)};
  return value->as_string().str;
}

double Number(const Table& table, std::string_view key) {
  const toml::value* value = Find(table, key);
  if (value == nullptr) return 0;
  if (value->is_integer()) return static_cast<double>(value->as_integer());
  if (value->is_floating()) return value->as_floating();
  throw Fault{fmt::format("{} is not a number", key)};
}

std::vector<std::string> Texts(const Table& table, std::string_view key) {
  const toml::value* value = Find(table, key);
  if (value == nullptr) return {};
  if (!value->is_array()) throw Fault{fmt::format("{} is not a list", key)};
  std::vector<std::string> texts;
  for (const toml::value& item : value->as_array()) {
    if (!item.is_string()) throw Fault{fmt::format("{} holds what is not a string", key)};
    texts.push_back(item.as_string().str);
  }
  return texts;
}

AllowSpec ReadAllow(const Table& table) {
  AllowSpec allow;
  allow.regexes = Texts(table, "regexes");
  allow.paths = Texts(table, "paths");
  allow.stopwords = Texts(table, "stopwords");
  allow.rules = Texts(table, "targetRules");
  std::string target = Text(table, "regexTarget");
  if (target == "match") {
    allow.target = AllowSpec::Target::kMatch;
  } else if (target == "line") {
    allow.target = AllowSpec::Target::kLine;
  } else if (!target.empty() && target != "secret") {
    throw Fault{"regexTarget must be secret, match or line"};
  }
  std::string condition = Text(table, "condition");
  if (condition == "AND" || condition == "and" || condition == "&&") {
    allow.condition = AllowSpec::Condition::kAll;
  } else if (!condition.empty() && condition != "OR" && condition != "or" && condition != "||") {
    throw Fault{"condition must be AND or OR"};
  }
  return allow;
}

// Both spellings: one [allowlist] of old, many [[allowlists]] of now. One that asks for
// commits alone says nothing about text, and never applies here.
void ReadAllows(const Table& table, std::vector<AllowSpec>& allows) {
  auto add = [&](const toml::value& value) {
    if (!value.is_table()) throw Fault{"an allowlist is not a table"};
    AllowSpec allow = ReadAllow(value.as_table());
    bool commits = Find(value.as_table(), "commits") != nullptr;
    if (commits && allow.condition == AllowSpec::Condition::kAll) return;
    if (!allow.regexes.empty() || !allow.paths.empty() || !allow.stopwords.empty()) {
      allows.push_back(std::move(allow));
    }
  };
  if (const toml::value* one = Find(table, "allowlist")) add(*one);
  if (const toml::value* many = Find(table, "allowlists")) {
    if (!many->is_array()) throw Fault{"allowlists is not a list of tables"};
    for (const toml::value& value : many->as_array()) add(value);
  }
}

RuleSpec::Kind ReadKind(const Table& table) {
  std::string kind = Text(table, "kind");
  if (kind == "at") return RuleSpec::Kind::kAt;
  if (kind == "after") return RuleSpec::Kind::kAfter;
  if (kind == "assigned") return RuleSpec::Kind::kAssigned;
  if (kind == "run") return RuleSpec::Kind::kRun;
  if (!kind.empty()) throw Fault{"kind must be at, after, assigned or run"};
  return RuleSpec::Kind::kPattern;
}

void ReadRule(const Table& table, RuleSpec& rule) {
  rule.description = Text(table, "description");
  rule.kind = ReadKind(table);
  rule.regex = Text(table, "regex");
  rule.path = Text(table, "path");
  rule.entropy = Number(table, "entropy");
  rule.keywords = Texts(table, "keywords");
  rule.but_not = Text(table, "but_not");
  const toml::value* random = Find(table, "random");
  rule.random = random != nullptr && random->is_boolean() && random->as_boolean();
  rule.positive = Texts(table, "positive");
  rule.negative = Texts(table, "negative");
  double group = Number(table, "secretGroup");
  if (group < 0 || group > 99) throw Fault{"secretGroup is out of range"};
  rule.secret_group = static_cast<int>(group);
  ReadAllows(table, rule.allow);
  if (rule.regex.empty() && rule.path.empty()) throw Fault{"it has neither regex nor path"};
}

void ReadExtend(const Table& root, RuleFileSpec& file) {
  const toml::value* extend = Find(root, "extend");
  if (extend == nullptr) return;
  if (!extend->is_table()) throw Fault{"extend is not a table"};
  const Table& table = extend->as_table();
  if (!Text(table, "path").empty() || !Text(table, "url").empty()) {
    throw Fault{"extend by path or url is not supported: name each file with --rules"};
  }
  const toml::value* defaults = Find(table, "useDefault");
  if (defaults != nullptr && defaults->is_boolean() && defaults->as_boolean()) {
    file.defaults = RuleFileSpec::Defaults::kExtended;
  }
  file.disabled = Texts(table, "disabledRules");
}

void ReadRules(const Table& root, RuleFileSpec& file) {
  const toml::value* rules = Find(root, "rules");
  if (rules == nullptr) return;
  if (!rules->is_array()) throw Fault{"rules is not a list of tables"};
  for (const toml::value& value : rules->as_array()) {
    if (!value.is_table()) throw Fault{"a rule is not a table"};
    RuleSpec rule;
    rule.id = Text(value.as_table(), "id");
    if (rule.id.empty()) throw Fault{"a rule has no id"};
    try {
      ReadRule(value.as_table(), rule);
    } catch (const Fault& fault) {
      throw Fault{fmt::format("rule {}: {}", rule.id, fault.message)};
    }
    file.rules.push_back(std::move(rule));
  }
}

}  // namespace

Result<RuleFileSpec> ReadRuleFile(std::string_view text, const std::string& name) {
  if (text.size() > kMaxRuleFileBytes) {
    return base::InvalidArgument(Reason::kUsage, name + ": the rule file is too large");
  }
  // toml11 reads past the end of what is not UTF-8.
  if (!base::IsValidUtf8(text) || text.find('\0') != std::string_view::npos) {
    return base::InvalidArgument(Reason::kUsage, name + ": the rule file is not UTF-8 text");
  }
  if (std::string_view hazard = base::FindTomlHazard(text); !hazard.empty()) {
    return base::InvalidArgument(Reason::kUsage, name + ": " + std::string(hazard));
  }
  try {
    std::istringstream stream{std::string(text)};
    toml::value root = toml::parse(stream, name);
    RuleFileSpec file;
    if (!root.is_table()) throw Fault{"it is no table"};
    ReadExtend(root.as_table(), file);
    ReadAllows(root.as_table(), file.allow);
    ReadRules(root.as_table(), file);
    return file;
  } catch (const Fault& fault) {
    return base::InvalidArgument(Reason::kUsage, name + ": " + fault.message);
  } catch (const std::exception& error) {
    std::string message = error.what();
    return base::InvalidArgument(
        Reason::kUsage, name + ": not valid TOML: " + message.substr(0, message.find('\n')));
  }
}

}  // namespace cordon::guard
