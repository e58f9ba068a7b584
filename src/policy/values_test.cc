#include "policy/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::policy {
namespace {

using ::testing::HasSubstr;

Context Ctx() {
  return {.home = "/home/u", .workspace = "/w", .env = {{"X", "/x y"}, {"G", "a[1]"}, {"E", ""}}};
}

TEST(ParseSize, IsStrict) {
  const std::pair<const char*, uint64_t> good[] = {{"1", 1},
                                                   {"512", 512},
                                                   {"50kB", 50000},
                                                   {"64MiB", 64ull << 20},
                                                   {"1GB", 1000000000},
                                                   {"2GiB", 2ull << 30},
                                                   {"1TiB", 1ull << 40},
                                                   {"1KiB", 1024},
                                                   {"7B", 7}};
  for (auto [text, bytes] : good) EXPECT_EQ(*ParseSize(text), bytes) << text;
  for (const char* text :
       {"", "0", "0GiB", "-1", "+1", "1e3", "1.5GiB", " 1", "1 ", "1 GiB", "GiB", "1G", "1gib",
        "1GiBx", "18446744073709551616", "99999999999TiB", "0x10"}) {
    EXPECT_FALSE(ParseSize(text)) << text;
  }
}

TEST(ParsePath, SaysTheSameOfPlainAndRoundaboutForms) {
  const std::pair<const char*, const char*> pairs[] = {{"?~/.ssh", "?~/./.ssh"},
                                                       {"/etc/x.d", "/etc//x.d"},
                                                       {"~/a b/ü", "~/a b/../a b/ü"},
                                                       {"?/run/x~y", "?/run/x~y/"}};
  for (auto [plain, roundabout] : pairs) {
    Result<PathRule> one = ParsePath(plain, PathUse::kPattern, Ctx());
    Result<PathRule> other = ParsePath(roundabout, PathUse::kPattern, Ctx());
    ASSERT_TRUE(one && other) << plain;
    EXPECT_EQ(*one, *other) << plain;
    EXPECT_EQ(one->optional, other->optional) << plain;
  }
}

TEST(ParseDuration, IsStrict) {
  const std::pair<const char*, uint64_t> good[] = {{"3", 3000},    {"60s", 60000},
                                                   {"5m", 300000}, {"1h", 3600000},
                                                   {"250ms", 250}, {"1d", 86400000}};
  for (auto [text, ms] : good) EXPECT_EQ(*ParseDuration(text), ms) << text;
  for (const char* text :
       {"", "0", "0s", "-1s", "1.5s", "1 s", "s", "1sec", "1e3", "1m30s", "9223372036854775807h"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(Format, ReadsBackTheSame) {
  for (uint64_t amount :
       {1ull, 999ull, 1000ull, 1024ull, 50000ull, 2ull << 30, 1ull << 40, 60001ull}) {
    EXPECT_EQ(*ParseSize(FormatSize(amount)), amount);
    EXPECT_EQ(*ParseDuration(FormatDuration(amount)), amount);
  }
  EXPECT_EQ(FormatSize(2ull << 30), "2GiB");
  EXPECT_EQ(FormatDuration(90000), "90s");
}

TEST(ParsePort, StaysInRange) {
  EXPECT_EQ(*ParsePort("1"), 1);
  EXPECT_EQ(*ParsePort("65535"), 65535);
  for (const char* text : {"0", "65536", "-1", "", "80x"}) EXPECT_FALSE(ParsePort(text)) << text;
}

struct PathCase {
  const char* text;
  PathUse use;
  const char* path;
  bool glob;
  bool optional;
};

TEST(ParsePath, ExpandsAndAnchors) {
  using enum PathUse;
  const PathCase cases[] = {
      {"/a/../b//", kLiteral, "/b", false, false},
      {".", kLiteral, "/w", false, false},
      {"src", kLiteral, "/w/src", false, false},
      {"../x", kLiteral, "/x", false, false},
      {"~", kLiteral, "/home/u", false, false},
      {"~/.ssh", kPattern, "/home/u/.ssh", false, false},
      {"?~/.ssh", kPattern, "/home/u/.ssh", false, true},
      {"?/a", kLiteral, "/a", false, true},
      {"?target", kLiteral, "/w/target", false, true},
      {"?.txt", kPattern, "/w/**/?.txt", true, false},
      {"?./a", kPattern, "/w/a", false, true},
      {"$X/z", kLiteral, "/x y/z", false, false},
      {"${X}z", kLiteral, "/x yz", false, false},
      {"/a$$b", kLiteral, "/a$b", false, false},
      {"$G/*", kPattern, "/w/a[[]1]/*", true, false},
      {"$G", kLiteral, "/w/a[1]", false, false},
      {".env", kPattern, "/w/**/.env", true, false},
      {"*.lock", kPattern, "/w/**/*.lock", true, false},
      {"secrets/**", kPattern, "/w/secrets", false, true},
      {"*/x/**/**", kPattern, "/w/*/x", true, true},
      {"/**", kPattern, "/", false, true},
      {"**", kPattern, "/w", false, true},
      {"a/b", kPattern, "/w/a/b", false, false},
      {"./b", kPattern, "/w/b", false, false},
      {"**/.env", kPattern, "/w/**/.env", true, false},
      {".", kPattern, "/w", false, false},
      {"a[[]1]", kLiteral, "/w/a[1]", false, false},
      {"/usr/bin/sudo", kProgram, "/usr/bin/sudo", false, false},
      {"/**/sudo", kProgram, "/**/sudo", true, false},
      {"/dev/kvm", kDevice, "/dev/kvm", false, false},
  };
  for (const PathCase& c : cases) {
    auto rule = ParsePath(c.text, c.use, Ctx());
    ASSERT_TRUE(rule) << c.text << " " << rule.error().message;
    EXPECT_EQ(rule->path, c.path) << c.text;
    EXPECT_EQ(rule->glob, c.glob) << c.text;
    EXPECT_EQ(rule->optional, c.optional) << c.text;
    auto again = ParsePath(FormatPath(*rule), c.use, Ctx());
    ASSERT_TRUE(again) << FormatPath(*rule);
    EXPECT_EQ(*again, *rule) << c.text;
    EXPECT_EQ(again->optional, rule->optional) << c.text;
  }
}

TEST(ParsePath, RefusesWhatCannotBeMeant) {
  using enum PathUse;
  const std::pair<std::string, PathUse> cases[] = {
      {"", kLiteral},          {"?", kLiteral},
      {"?", kPattern},         {"~root/x", kLiteral},
      {"$UNSET", kLiteral},    {"$E/x", kLiteral},
      {"$", kLiteral},         {"$1", kLiteral},
      {"${X", kLiteral},       {"${}", kLiteral},
      {"/a*", kLiteral},       {"a?b", kLiteral},
      {"/a[x]", kDevice},      {std::string("/a\0b", 4), kLiteral},
      {"/a\nb", kPattern},     {"/a\x1b[m", kPattern},
      {"/*/../b", kPattern},   {"**/../b", kPattern},
      {"sudo", kProgram},      {"/etc/passwd", kDevice},
      {"/dev/../etc", kDevice}};
  for (const auto& [text, use] : cases) EXPECT_FALSE(ParsePath(text, use, Ctx())) << text;
  EXPECT_FALSE(ParsePath("~/x", kLiteral, {.home = "", .workspace = "/w", .env = {}}));
}

TEST(ParsePath, AWorkspaceWithGlobCharactersIsLiteral) {
  Context context{.home = "/h", .workspace = "/w[1]*", .env = {}};
  auto rule = ParsePath(".env", PathUse::kPattern, context);
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->path, "/w[[]1][*]/**/.env");
  EXPECT_EQ(ParsePath(".", PathUse::kLiteral, context)->path, "/w[1]*");
}

TEST(Checks, NameWhatIsWrong) {
  EXPECT_TRUE(CheckHost("*.github.com:8443"));
  EXPECT_TRUE(CheckHost("@npm"));
  for (const char* text :
       {"", "a b", "a/b", "a\n", "http://x", "*", "*.com", "127.1", "a:b", "@npm:1"})
    EXPECT_FALSE(CheckHost(text)) << text;
  EXPECT_THAT(CheckHost("*.com").error().hint, HasSubstr("net.mode = \"public\""));
  EXPECT_THAT(CheckHost("@nmp").error().hint, HasSubstr("@npm"));
  EXPECT_TRUE(CheckDeniedHost("*.com"));
  EXPECT_FALSE(CheckDeniedHost("*"));
  EXPECT_TRUE(CheckEnvName("LC_ALL"));
  for (const char* text : {"", "1A", "A=B", "A ", "A\xe2\x80\x8b"})
    EXPECT_FALSE(CheckEnvName(text));
  EXPECT_TRUE(CheckFeature("limits.cpu"));
  EXPECT_THAT(CheckFeature("secomp").error().hint, HasSubstr("seccomp"));
  EXPECT_TRUE(CheckProxyUrl("http://proxy.corp:3128"));
  EXPECT_TRUE(CheckProxyUrl("http://user:word@proxy.corp:3128"));
  for (const char* text : {"", "proxy:1", "http://", "ftp://x", "http://a b"}) {
    EXPECT_FALSE(CheckProxyUrl(text)) << text;
  }
}

}  // namespace
}  // namespace cordon::policy
