// Build tool: gen_secret_rules OUT.cc OUT.db RULES.toml writes our rules for secrets as
// C++ data, and the database of their keywords, compiled for any processor. A rule that
// could not work is an error of the build.
#include <fmt/core.h>
#include <hs/hs.h>
#include <re2/re2.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "guard/secrets/rule_file.h"

namespace {

using cordon::guard::RuleFileSpec;
using cordon::guard::RuleSpec;

// Case says nothing where a keyword is a part of a name.
struct Keyword {
  std::string text;
  bool folded = false;
  auto operator<=>(const Keyword&) const = default;
};

using Keywords = std::map<Keyword, std::vector<size_t>>;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '?') {
      quoted += fmt::format("\\{:03o}", c);
    } else {
      quoted += static_cast<char>(c);
    }
  }
  return quoted + "\"";
}

std::string Problem(const RuleSpec& rule) {
  re2::RE2::Options options(re2::RE2::Quiet);
  for (const std::string& regex : {rule.regex, rule.but_not}) {
    re2::RE2 compiled(regex, options);
    if (!compiled.ok()) return compiled.error();
  }
  if (rule.description.empty()) return "no description";
  if (rule.keywords.empty()) return "no keywords";
  if (rule.positive.empty() || rule.negative.empty()) return "no examples of both kinds";
  if (rule.kind == RuleSpec::Kind::kRun) return "";
  for (const std::string& keyword : rule.keywords) {
    if (keyword.size() < 3) return "the keyword " + keyword + " is too short";
  }
  return "";
}

bool Check(const RuleFileSpec& file) {
  std::set<std::string> ids;
  bool fine = true;
  for (const RuleSpec& rule : file.rules) {
    std::string problem = ids.insert(rule.id).second ? Problem(rule) : "a second rule of this id";
    if (problem.empty()) continue;
    std::cerr << rule.id << ": " << problem << "\n";
    fine = false;
  }
  return fine;
}

Keywords Collect(const RuleFileSpec& file) {
  Keywords keywords;
  for (size_t i = 0; i < file.rules.size(); ++i) {
    const RuleSpec& rule = file.rules[i];
    if (rule.kind == RuleSpec::Kind::kRun) continue;
    bool folded = rule.kind == RuleSpec::Kind::kAssigned || rule.regex.starts_with("(?i)");
    for (const std::string& keyword : rule.keywords) keywords[{keyword, folded}].push_back(i);
  }
  return keywords;
}

bool WriteDatabase(const Keywords& keywords, const char* path) {
  std::vector<const char*> texts;
  std::vector<unsigned> flags;
  std::vector<unsigned> ids;
  std::vector<size_t> lengths;
  for (const auto& [keyword, rules] : keywords) {
    ids.push_back(static_cast<unsigned>(texts.size()));
    texts.push_back(keyword.text.c_str());
    flags.push_back(keyword.folded ? HS_FLAG_CASELESS : 0);
    lengths.push_back(keyword.text.size());
  }
  hs_platform_info_t any{};  // no processor in particular
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  if (hs_compile_lit_multi(texts.data(), flags.data(), ids.data(), lengths.data(),
                           static_cast<unsigned>(texts.size()), HS_MODE_BLOCK, &any, &database,
                           &error) != HS_SUCCESS) {
    std::cerr << error->message << "\n";
    return false;
  }
  char* bytes = nullptr;
  size_t size = 0;
  if (hs_serialize_database(database, &bytes, &size) != HS_SUCCESS) return false;
  std::ofstream(path, std::ios::binary).write(bytes, static_cast<std::streamsize>(size));
  return true;
}

void WriteRules(const RuleFileSpec& file, std::ostream& out) {
  for (size_t i = 0; i < file.rules.size(); ++i) {
    out << fmt::format("constexpr std::string_view kKeywords{}[] = {{", i);
    for (const std::string& keyword : file.rules[i].keywords) out << Quoted(keyword) << ", ";
    out << "};\n";
  }
  out << "\nconstexpr DefaultRule kRules[] = {\n";
  for (size_t i = 0; i < file.rules.size(); ++i) {
    const RuleSpec& rule = file.rules[i];
    out << fmt::format(
        "    {{{}, {}, static_cast<RuleSpec::Kind>({}), {}, {}, {}, {}, {}, kKeywords{}}},\n",
        Quoted(rule.id), Quoted(rule.description), static_cast<int>(rule.kind), Quoted(rule.regex),
        rule.secret_group, rule.entropy, Quoted(rule.but_not), rule.random, i);
  }
  out << "};\n\n";
}

void WriteKeywords(const Keywords& keywords, std::ostream& out) {
  size_t number = 0;
  std::string table;
  for (const auto& [keyword, rules] : keywords) {
    out << fmt::format("constexpr uint16_t kRulesOf{}[] = {{", number);
    for (size_t rule : rules) out << rule << ", ";
    out << "};\n";
    table += fmt::format("    {{{}, kRulesOf{}}},\n", keyword.text.size(), number++);
  }
  out << "\nconstexpr DefaultKeyword kAllKeywords[] = {\n" << table << "};\n\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::ifstream in(argv[3]);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  auto file = cordon::guard::ReadRuleFile(text, argv[3]);
  if (!file) {
    std::cerr << file.error().message << "\n";
    return 1;
  }
  if (!Check(*file)) return 1;
  Keywords keywords = Collect(*file);
  if (!WriteDatabase(keywords, argv[2])) return 1;
  std::ofstream out(argv[1]);
  out << "// Generated by tools/gen_secret_rules.cc.\n#include "
         "\"guard/secrets/default_rules.h\"\n\n"
         "extern \"C\" const char cordon_secret_database[];\n"
         "extern \"C\" const char cordon_secret_database_end[];\n\n"
         "namespace cordon::guard {\nnamespace {\n\n";
  WriteRules(*file, out);
  WriteKeywords(keywords, out);
  out << "}  // namespace\n\n"
         "std::span<const DefaultRule> DefaultRules() { return kRules; }\n"
         "std::span<const DefaultKeyword> DefaultKeywords() { return kAllKeywords; }\n"
         "std::string_view DefaultDatabase() {\n"
         "  return {cordon_secret_database, cordon_secret_database_end};\n}\n\n"
         "}  // namespace cordon::guard\n";
  return out.good() ? 0 : 1;
}
