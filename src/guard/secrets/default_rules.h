// The rules that cordon carries: rules/secrets.toml, read at build time by
// tools/gen_secret_rules.cc, with their keywords as a database for Vectorscan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "guard/secrets/rule_file.h"

namespace cordon::guard {

// Tables without pointers: those would have to be relocated when the program starts.
struct Piece {  // of DefaultText()
  uint32_t at;
  uint32_t size;
};
struct Range {
  uint32_t first;
  uint32_t count;
};

struct DefaultRule {
  Piece id;
  Piece description;
  RuleSpec::Kind kind;
  Piece regex;
  int secret_group;
  double entropy;
  Piece but_not;
  bool random;
  Range prefixes;  // of DefaultPrefixes(): its keywords
};

// By its number in the database.
struct DefaultKeyword {
  uint32_t length;
  Range rules;  // of DefaultKeywordRules()
};

std::string_view DefaultText();
std::span<const DefaultRule> DefaultRules();
std::span<const Piece> DefaultPrefixes();
std::span<const DefaultKeyword> DefaultKeywords();
std::span<const uint16_t> DefaultKeywordRules();
std::string_view DefaultDatabase();  // serialised

inline std::string_view DefaultText(Piece piece) {
  return DefaultText().substr(piece.at, piece.size);
}

}  // namespace cordon::guard
