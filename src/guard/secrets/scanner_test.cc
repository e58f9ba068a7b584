#include "guard/secrets/scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "base/base64.h"

namespace cordon::guard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// In two parts: no scanner of this file should take it for a token of somebody's.
const std::string kToken = std::string("ghp_") + "5j4Ab16b1cC9hvFVoziJI97CuZiqTehiteRa";
const std::string kBody = "fkA/sn+tI459PWjlZ+SptzqPh8r8yATOonIhSoUjnDiN8kqqbYBr5nZ8vlodXleD\n";

SecretRules Rules(SecretRuleSources sources = {}) { return *LoadSecretRules(sources); }

std::string Hex(const std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned char c : text) {
    hex += kDigits[c >> 4];
    hex += kDigits[c & 15];
  }
  return hex;
}

std::string Url(const std::string& text) {
  std::string url;
  for (char c : text) url += "%" + Hex(std::string(1, c));
  return url;
}

std::string Wide(const std::string& text) {
  std::string wide;
  for (char c : text) wide += std::string(1, c) + '\0';
  return wide;
}

std::string Gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string in = text;
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

TEST(SecretScanner, TellsTheRuleAndThePlaceAndNeverTheSecret) {
  std::vector<SecretFinding> found = FindSecrets(Rules(), "a\nb token: " + kToken + " c\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "github-pat");
  EXPECT_EQ(found[0].begin, 11U);
  EXPECT_EQ(found[0].end, 11 + kToken.size());
  EXPECT_EQ(found[0].line, 2U);
  EXPECT_EQ(found[0].column, 10U);
  EXPECT_EQ(found[0].preview, "ghp_…[40]");
}

TEST(SecretScanner, LooksIntoEncodings) {
  SecretRules rules = Rules();
  std::string twice = base::ToBase64(base::ToBase64(kToken));
  for (const auto& [text, encoding] : std::vector<std::pair<std::string, std::string>>{
           {base::ToBase64(kToken), "base64"},
           {base::ToBase64("ab" + kToken), "base64"},
           {Hex(kToken), "hex"},
           {Url(kToken), "url"},
           {Wide(kToken), "utf-16"},
           {Gzip("x " + kToken + " y"), "gzip"},
           {twice, "base64+base64"},
           {base::ToBase64(twice), "base64+base64+base64"},
           {Hex(base::ToBase64(Url(kToken))), "hex+base64+url"},
           {base::ToBase64(Wide(kToken)), "base64+utf-16"},
           {"\\u0067hp\\x5f" + kToken.substr(4), "escaped"},
           {"&#103;hp_" + kToken.substr(4), "html"}}) {
    std::vector<SecretFinding> found = FindSecrets(rules, "x=" + text + " .");
    ASSERT_EQ(found.size(), 1U) << encoding;
    EXPECT_EQ(found[0].rule, "github-pat");
    EXPECT_EQ(found[0].encoding, encoding);
    EXPECT_GE(found[0].begin, 2U);
    EXPECT_LE(found[0].end, 2 + text.size());
    EXPECT_THAT(RedactSecrets(rules, "x=" + text + " ."), HasSubstr("[REDACTED:github-pat]"));
  }
}

TEST(SecretScanner, FindsATokenThatWasWrapped) {
  for (const std::string line_break : {"\n", "\r\n  ", "\\n", "\" +\n    \""}) {
    std::string text = "x " + kToken.substr(0, 22) + line_break + kToken.substr(22) + " y";
    std::vector<SecretFinding> found = FindSecrets(Rules(), text);
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_EQ(found[0].rule, "github-pat");
    EXPECT_EQ(RedactSecrets(Rules(), text), "x [REDACTED:github-pat] y");
  }
}

TEST(SecretScanner, JoinsNoLinesThatWereApart) {
  std::string half = kToken.substr(0, 22);
  EXPECT_TRUE(FindSecrets(Rules(), "T = \"" + half + "\"\n" + kToken.substr(22) + " = 1").empty());
}

TEST(SecretScanner, KnowsManyWaysToAssign) {
  SecretRules rules = Rules();
  const std::string value = std::string("kb3fgupdd23vxaem") + "zgvth2fnpdjjahos";
  for (const std::string form : {"adafruit_key = \"V\"",
                                 "var adafruitKey string = \"V\"",
                                 "adafruitKey := `V`",
                                 "$adafruitKey .= 'V';",
                                 "<adafruitKey>V</adafruitKey>",
                                 "<adafruitKey>\n  V\n</adafruitKey>",
                                 "adafruit_key: V",
                                 "adafruit_key:\n  V\n",
                                 "ADAfruit_KEY ::= V",
                                 "adafruit_KEY?=V",
                                 "set(\"adafruit_KEY\", \"V\")",
                                 "'adafruit' => 'V'",
                                 "?adafruit_key=V&x=1",
                                 "adafruit_key = b'V'",
                                 "adafruitKey ||= \"V\"",
                                 "if (adafruitKey == \"V\")",
                                 "--adafruit-key V",
                                 "#define adafruit_KEY \"V\"",
                                 "adafruitKey('V')",
                                 "{\\\"adafruit\\\": \\\"V\\\"}",
                                 "adafruitKey = @\"V\"",
                                 "adafruit: [V]"}) {
    std::string text = form;
    text.replace(text.find('V'), 1, value);
    EXPECT_EQ(FindSecrets(rules, text).size(), 1U) << text;
  }
  EXPECT_TRUE(FindSecrets(rules, "adafruit " + value).empty());
  EXPECT_TRUE(FindSecrets(rules, "key_of(" + value + ")").empty());
}

TEST(SecretScanner, GoesThreeDeepAndNoDeeper) {
  std::string text = kToken;
  for (int i = 0; i < 4; ++i) text = base::ToBase64(text);
  EXPECT_TRUE(FindSecrets(Rules(), text).empty());
}

TEST(SecretScanner, FindsTheSameHoweverTheInputIsCut) {
  SecretRules rules = Rules();
  std::string key =
      "-----BEGIN EC PRIVATE KEY-----\n" + kBody + kBody + "-----END EC PRIVATE KEY-----";
  std::string text =
      "one " + kToken + "\n" + key + "\ntwo " + base::ToBase64(kToken + kToken) + "\n";
  std::vector<SecretFinding> whole = FindSecrets(rules, text);
  ASSERT_EQ(whole.size(), 3U);
  for (size_t size : {1, 2, 7, 40, 100}) {
    SecretScanner scanner(rules);
    std::vector<SecretFinding> found;
    for (size_t at = 0; at < text.size(); at += size) {
      scanner.Feed(std::string_view(text).substr(at, size), found);
    }
    scanner.Finish(found);
    EXPECT_EQ(found, whole) << size;
  }
}

TEST(SecretScanner, FindsWhatLiesAcrossItsBlocks) {
  SecretRules rules = Rules();
  for (size_t before : {(256UL << 10) - 20, (256UL << 10) - (16UL << 10) - 20, 1000000UL}) {
    std::string text(before, '.');
    text += "\n" + kToken + "\n" + std::string(300000, '.');
    std::vector<SecretFinding> found = FindSecrets(rules, text);
    ASSERT_EQ(found.size(), 1U) << before;
    EXPECT_EQ(found[0].begin, before + 1);
    EXPECT_EQ(found[0].line, 2U);
  }
}

TEST(SecretRedactor, LetsOutNoHalfOfASecret) {
  SecretRules rules = Rules();
  std::string text = "one " + kToken + " two\nKEY=" + base::ToBase64(kToken) + "\nthree\n";
  std::string whole = RedactSecrets(rules, text);
  EXPECT_EQ(whole, "one [REDACTED:github-pat] two\nKEY=[REDACTED:github-pat]==\nthree\n");
  for (size_t size : {1, 3, 10, 33}) {
    SecretRedactor redactor(rules);
    std::string out;
    for (size_t at = 0; at < text.size(); at += size) {
      out += redactor.Feed(std::string_view(text).substr(at, size));
      EXPECT_THAT(out, Not(HasSubstr(kToken.substr(0, 12))));
    }
    out += redactor.Finish();
    EXPECT_EQ(out, whole) << size;
    EXPECT_EQ(redactor.findings().size(), 2U);
  }
}

TEST(SecretRedactor, HoldsBackNothingButTheLastWord) {
  SecretRedactor redactor(Rules());
  EXPECT_EQ(redactor.Feed("a line\nand a ques"), "a line\nand a ");
  EXPECT_EQ(redactor.Feed("tion? "), "question? ");
  EXPECT_EQ(redactor.Finish(), "");
}

TEST(SecretRedactor, TakesAPrivateKeyWhole) {
  std::string key =
      "-----BEGIN RSA PRIVATE KEY-----\n" + kBody + kBody + "-----END RSA PRIVATE KEY-----";
  SecretRedactor redactor(Rules());
  std::string out;
  for (char c : "a " + key + " b\n") out += redactor.Feed(std::string(1, c));
  out += redactor.Finish();
  EXPECT_THAT(out, Not(HasSubstr(kBody.substr(0, 20))));
  EXPECT_THAT(out, HasSubstr("[REDACTED:private-key]"));
}

TEST(KnownSecrets, AreFoundInEveryEncodingAndNamed) {
  const std::string secret = "correct horse&battery";
  SecretRules rules = Rules({.known = {{"DB", secret}}});
  for (const std::string& text :
       {secret, base::ToBase64(secret), base::ToBase64("\xff" + secret + "\xff"), Hex(secret),
        Url(secret), Wide(secret), base::ToBase64(base::ToBase64(secret)),
        std::string("correct%20horse%26battery"),
        base::ToBase64(secret).substr(0, 9) + "\n" + base::ToBase64(secret).substr(9)}) {
    std::vector<SecretFinding> found = FindSecrets(rules, "<" + text + ">");
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_EQ(found[0].rule, "known:DB");
    EXPECT_THAT(found[0].preview, Not(HasSubstr("horse")));
  }
  EXPECT_TRUE(FindSecrets(rules, "correct horse battery").empty());
}

TEST(KnownSecrets, MustBeLongEnough) {
  Result<SecretRules> rules = LoadSecretRules({.known = {{"PIN", "1234"}}});
  ASSERT_FALSE(rules);
  EXPECT_THAT(rules.error().message, HasSubstr("PIN"));
  EXPECT_THAT(rules.error().message, Not(HasSubstr("1234")));
}

TEST(SecretAllowlists, ByRuleRegexAndLine) {
  std::string text = "x " + kToken + " # cordon:allow\n";
  EXPECT_EQ(FindSecrets(Rules(), text).size(), 1U);
  EXPECT_TRUE(FindSecrets(Rules({.disabled = {"github-pat"}}), text).empty());
  EXPECT_TRUE(FindSecrets(Rules({.allow = {"^ghp_5j4"}}), text).empty());
  EXPECT_EQ(FindSecrets(Rules({.allow = {"^ghp_6"}}), text).size(), 1U);
  SecretScanOptions heed{.inline_allow = SecretScanOptions::InlineAllow::kHonour};
  EXPECT_TRUE(FindSecrets(Rules(), text, heed).empty());
}

SecretRuleSources File(std::string text) {
  return {.defaults = SecretRuleSources::Defaults::kWithout,
          .files = {{"my.toml", std::move(text)}}};
}

TEST(SecretRuleFiles, AreReadAsGitleaksDoes) {
  SecretRules rules = Rules(File(R"toml(
[[rules]]
id = "acme"
description = "Acme"
regex = '''(?i)acme_key\s*=\s*"(\w{8})-(\w{8})"'''
secretGroup = 2
entropy = 2.5
keywords = ["ACME_"]
[[rules.allowlists]]
regexTarget = "line"
regexes = ['''# fine''']
[[rules]]
id = "plain"
regex = '''zz\d{6}'''
path = '''\.conf$'''
[allowlist]
stopwords = ["sample"]
)toml"));
  auto found = FindSecrets(rules, "ACME_KEY = \"abcdefgh-k3j4h5g6\"\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "acme");
  EXPECT_EQ(found[0].begin, 21U);
  EXPECT_TRUE(FindSecrets(rules, "ACME_KEY = \"abcdefgh-k3j4h5g6\" # fine\n").empty());
  EXPECT_TRUE(FindSecrets(rules, "ACME_KEY = \"abcdefgh-aaaaaaaa\"\n").empty());
  EXPECT_TRUE(FindSecrets(rules, "ACME_KEY = \"abcdefgh-sample12\"\n").empty());
  EXPECT_EQ(FindSecrets(rules, "zz123456", {.path = "a.conf"}).size(), 1U);
  EXPECT_TRUE(FindSecrets(rules, "zz123456", {.path = "a.c"}).empty());
  EXPECT_TRUE(FindSecrets(rules, kToken).empty());
}

TEST(SecretRuleFiles, MayAskForAPathAlone) {
  SecretRules rules = Rules(File("[[rules]]\nid = \"p12\"\npath = '\\.p12$'\n"));
  EXPECT_EQ(FindSecrets(rules, "x", {.path = "a.p12"}).size(), 1U);
  EXPECT_TRUE(FindSecrets(rules, "x", {.path = "a.p1"}).empty());
}

TEST(SecretRuleFiles, ExtendOurs) {
  SecretRules rules =
      Rules(File("[extend]\nuseDefault = true\ndisabledRules = [\"gitlab-pat\"]\n"));
  EXPECT_EQ(FindSecrets(rules, kToken).size(), 1U);
}

TEST(SecretRuleFiles, ErrorsNameTheFileAndTheRule) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"[[rules]]\nid = \"a\"\nregex = '''(b'''\n", "my.toml: rule a: "},
           {"[[rules]]\nid = \"a\"\n", "my.toml: rule a: "},
           {"[[rules]]\nid = \"a\"\nregex = \"b\"\nsecretGroup = 2\n", "my.toml: rule a: "},
           {"[[rules]]\nid = \"a\"\nregex = 1\n", "my.toml: rule a: "},
           {"[[rules]]\nregex = \"b\"\n", "my.toml: a rule has no id"},
           {"a = " + std::string(100000, '['), "my.toml: nested too deeply"},
           {"[[rules", "my.toml: not valid TOML"}}) {
    Result<SecretRules> rules = LoadSecretRules(File(text));
    ASSERT_FALSE(rules) << text;
    EXPECT_THAT(rules.error().message, HasSubstr(words));
  }
}

}  // namespace
}  // namespace cordon::guard
