// Build tool: gen_secret_rules OUT.cc OUT.db RULES.toml writes our rules for secrets as
// C++ data, and the database of their keywords, compiled for any processor. A rule that
// could not work is an error of the build.
#include <fmt/core.h>
#include <hs/hs.h>
#include <re2/re2.h>

#include <cstdlib>
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
  std::ofstream out(path, std::ios::binary);
  out.write(bytes, static_cast<std::streamsize>(size));
  hs_free_database(database);
  std::free(bytes);
  return out.good();
}

// All texts of the tables in one, each once.
class Texts {
 public:
  std::string Piece(const std::string& text) {
    size_t at = all_.find(text);
    if (at == std::string::npos) {
      at = all_.size();
      all_ += text;
    }
    return fmt::format("{{{}, {}}}", at, text.size());
  }
  const std::string& all() const { return all_; }

 private:
  std::string all_;
};

void WriteRules(const RuleFileSpec& file, Texts& texts, std::ostream& out) {
  std::string prefixes;
  size_t count = 0;
  out << "constexpr DefaultRule kRules[] = {\n";
  for (const RuleSpec& rule : file.rules) {
    out << fmt::format(
        "    {{{}, {}, static_cast<RuleSpec::Kind>({}), {}, {}, {}, {}, {}, {{{}, {}}}}},\n",
        texts.Piece(rule.id), texts.Piece(rule.description), static_cast<int>(rule.kind),
        texts.Piece(rule.regex), rule.secret_group, rule.entropy, texts.Piece(rule.but_not),
        rule.random, count, rule.keywords.size());
    for (const std::string& keyword : rule.keywords) prefixes += texts.Piece(keyword) + ", ";
    count += rule.keywords.size();
  }
  out << "};\n\nconstexpr Piece kPrefixes[] = {" << prefixes << "};\n\n";
}

void WriteKeywords(const Keywords& keywords, std::ostream& out) {
  std::string all;
  size_t count = 0;
  out << "constexpr DefaultKeyword kKeywords[] = {\n";
  for (const auto& [keyword, rules] : keywords) {
    out << fmt::format("    {{{}, {{{}, {}}}}},\n", keyword.text.size(), count, rules.size());
    for (size_t rule : rules) all += fmt::format("{}, ", rule);
    count += rules.size();
  }
  out << "};\n\nconstexpr uint16_t kKeywordRules[] = {" << all << "};\n\n";
}

// In parts that a compiler takes.
void WriteText(const std::string& text, std::ostream& out) {
  out << "constexpr char kText[] =\n";
  for (size_t at = 0; at < text.size(); at += 64)
    out << "    " << Quoted(text.substr(at, 64)) << "\n";
  out << "    ;\n\n";
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
  Texts texts;
  WriteRules(*file, texts, out);
  WriteKeywords(keywords, out);
  WriteText(texts.all(), out);
  out << "}  // namespace\n\n"
         "std::string_view DefaultText() { return {kText, sizeof(kText) - 1}; }\n"
         "std::span<const DefaultRule> DefaultRules() { return kRules; }\n"
         "std::span<const Piece> DefaultPrefixes() { return kPrefixes; }\n"
         "std::span<const DefaultKeyword> DefaultKeywords() { return kKeywords; }\n"
         "std::span<const uint16_t> DefaultKeywordRules() { return kKeywordRules; }\n"
         "std::string_view DefaultDatabase() {\n"
         "  return {cordon_secret_database, cordon_secret_database_end};\n}\n\n"
         "}  // namespace cordon::guard\n";
  return out.good() ? 0 : 1;
}
