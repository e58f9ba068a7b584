// The rules that cordon carries: rules/secrets.toml, read at build time by
// tools/gen_secret_rules.cc, with their keywords as a database for Vectorscan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "guard/secrets/rule_file.h"

namespace cordon::guard {

struct DefaultRule {
  std::string_view id;
  std::string_view description;
  RuleSpec::Kind kind;
  std::string_view regex;
  int secret_group;
  double entropy;
  std::string_view but_not;
  bool random;
  std::span<const std::string_view> keywords;
};

// By its number in the database.
struct DefaultKeyword {
  uint32_t length;
  std::span<const uint16_t> rules;
};

std::span<const DefaultRule> DefaultRules();
std::span<const DefaultKeyword> DefaultKeywords();
std::string_view DefaultDatabase();  // serialised

}  // namespace cordon::guard
