// Every rule of rules/secrets.toml against its own examples, alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "guard/secrets/rule_file.h"
#include "guard/secrets/scanner.h"

namespace cordon::guard {
namespace {

RuleFileSpec OurRules() {
  const char* source = std::getenv("CORDON_SOURCE_DIR");
  std::string path = std::string(source == nullptr ? "." : source) + "/rules/secrets.toml";
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<RuleFileSpec> rules = ReadRuleFile(text, path);
  return rules ? *rules : RuleFileSpec{};
}

std::string Alphabet(char kind) {
  const std::string digits = "0123456789";
  const std::string lower = "abcdefghijklmnopqrstuvwxyz";
  const std::string upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  switch (kind) {
    case 'w':
      return digits + lower + upper;
    case 'a':
      return lower + upper;
    case 'l':
      return digits + lower;
    case 'u':
      return digits + upper;
    case 'v':
      return upper + "234567";
    case 'd':
      return digits;
    case 'h':
      return digits + "abcdef";
    case 'H':
      return digits + "ABCDEF";
    case 'b':
      return digits + lower + upper + "-_";
    case 'B':
      return digits + lower + upper + "+/";
    case 'k':
      return "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
    default:
      return "";
  }
}

class Examples {
 public:
  // "{w36}" becomes 36 random letters and digits, "{U}" a UUID.
  std::string Expand(const std::string& pattern) {
    std::string text;
    for (size_t i = 0; i < pattern.size(); ++i) {
      size_t close = pattern.find('}', i);
      std::string inside = pattern[i] == '{' && close != std::string::npos
                               ? pattern.substr(i + 1, close - i - 1)
                               : "";
      if (inside == "U") {
        text += Random('h', 8) + "-" + Random('h', 4) + "-4" + Random('h', 3) + "-a" +
                Random('h', 3) + "-" + Random('h', 12);
      } else if (inside.size() > 1 && !Alphabet(inside[0]).empty() &&
                 inside.find_first_not_of("0123456789", 1) == std::string::npos) {
        text += Random(inside[0], std::stoul(inside.substr(1)));
      } else {
        text += pattern[i];
        continue;
      }
      i = close;
    }
    return text;
  }

 private:
  std::string Random(char kind, size_t length) {
    std::string letters = Alphabet(kind);
    std::string text;
    while (text.size() < length) text += letters[random_() % letters.size()];
    return text;
  }

  std::mt19937 random_{20};
};

SecretRules Only(const std::string& id, const RuleFileSpec& all) {
  SecretRuleSources sources;
  for (const RuleSpec& rule : all.rules) {
    if (rule.id != id) sources.disabled.push_back(rule.id);
  }
  return *LoadSecretRules(sources);
}

TEST(OurSecretRules, AreManyAndEachFindsItsExamplesAndNoOthers) {
  RuleFileSpec all = OurRules();
  ASSERT_GE(all.rules.size(), 120U);
  Examples examples;
  for (const RuleSpec& rule : all.rules) {
    SecretRules only = Only(rule.id, all);
    for (const std::string& pattern : rule.positive) {
      for (int i = 0; i < 3; ++i) {
        std::string text = examples.Expand(pattern);
        EXPECT_FALSE(FindSecrets(only, text).empty()) << rule.id << ": " << text;
      }
    }
    for (const std::string& pattern : rule.negative) {
      std::string text = examples.Expand(pattern);
      EXPECT_TRUE(FindSecrets(only, text).empty()) << rule.id << ": " << text;
    }
  }
}

}  // namespace
}  // namespace cordon::guard
