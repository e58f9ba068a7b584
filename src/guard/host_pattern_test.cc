#include "guard/host_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cordon::guard {
namespace {

using ::testing::HasSubstr;
using Kind = HostPattern::Kind;

HostPattern Pattern(std::string_view text) {
  auto pattern = ParseHostPattern(text);
  EXPECT_TRUE(pattern) << text << ": " << (pattern ? "" : pattern.error().message);
  return pattern ? *pattern : HostPattern{};
}

bool Matches(std::string_view pattern, std::string_view host) {
  return MatchesName(Pattern(pattern), *ParseHost(host));
}

TEST(ParseHostPattern, ReadsEachForm) {
  EXPECT_EQ(Pattern("A.test.").kind, Kind::kExact);
  EXPECT_EQ(Pattern("A.test.").name, "a.test");
  EXPECT_EQ(Pattern("A.test.").text, "A.test.");
  EXPECT_EQ(Pattern("*.a.test:8443").kind, Kind::kSubdomains);
  EXPECT_EQ(Pattern("*.a.test:8443").port, 8443);
  EXPECT_EQ(Pattern("**.a.test").kind, Kind::kApexAndSubdomains);
  EXPECT_EQ(Pattern("**.a.test").port, std::nullopt);
  EXPECT_EQ(Pattern("10.0.0.1:5432").kind, Kind::kAddress);
  EXPECT_EQ(Pattern("[fd00::1]:22").address, ParseIp("fd00::1"));
  EXPECT_EQ(Pattern("fd00::1").port, std::nullopt);
  EXPECT_EQ(Pattern("*.b\u00fccher.example").name, "xn--bcher-kva.example");
}

TEST(ParseHostPattern, RefusesPublicSuffixesWithAWordOnPublic) {
  for (std::string_view text : {"*", "**", "*:443", "**:80", "*.com", "**.com", "*.co.uk",
                                "**.co.uk", "*.test", "**.internal", "*.foo.ck", "*.COM.",
                                "*.com:8443", "*.\u516c\u53f8.cn", "*.xn--55qx5d.cn"}) {
    auto pattern = ParseHostPattern(text);
    ASSERT_FALSE(pattern) << text;
    EXPECT_EQ(pattern.error().reason, Reason::kPolicyBadValue);
    EXPECT_THAT(pattern.error().hint, HasSubstr("net.mode = \"public\"")) << text;
  }
  // What someone registered may be as wide as it likes.
  for (std::string_view text : {"*.wild.test", "**.example.co.uk", "*.www.ck", "**.github.io"}) {
    EXPECT_TRUE(ParseHostPattern(text)) << text;
  }
}

TEST(ParseHostPattern, RefusesWhatIsNoPattern) {
  for (std::string_view text :
       {"",           "*.",           "**.",         "*a.test",       "a.*.test",
        "***.a.test", "*.*.a.test",   "*.**.a.test", "*.1.2.3.4",     "*.[::1]",
        "**.::1",     "10.0.0.0/8",   "@npm",        "http://a.test", "a.test:0",
        "a.test:*",   "a.test:80-90", "a b",         "0177.0.0.1",    "*.a.test/x",
        ".a.test",    "*..a.test"}) {
    auto pattern = ParseHostPattern(text);
    ASSERT_FALSE(pattern) << text;
    EXPECT_EQ(pattern.error().reason, Reason::kPolicyBadValue);
    EXPECT_THAT(pattern.error().message, HasSubstr("expected "));
  }
}

TEST(MatchesName, ASubdomainIsBelowAtAnyDepthAndNotTheApex) {
  EXPECT_TRUE(Matches("*.wild.test", "a.wild.test"));
  EXPECT_TRUE(Matches("*.wild.test", "deep.a.WILD.test."));
  EXPECT_FALSE(Matches("*.wild.test", "wild.test"));
  EXPECT_FALSE(Matches("*.wild.test", "xwild.test"));
  EXPECT_FALSE(Matches("*.wild.test", "a.wild.test.evil.test"));
  EXPECT_TRUE(Matches("**.wild.test", "wild.test"));
  EXPECT_TRUE(Matches("**.wild.test", "b.a.wild.test"));
  EXPECT_FALSE(Matches("**.wild.test", "xwild.test"));
}

TEST(MatchesName, ExactAndAddress) {
  EXPECT_TRUE(Matches("allowed.test", "ALLOWED.test."));
  EXPECT_FALSE(Matches("allowed.test", "a.allowed.test"));
  EXPECT_FALSE(Matches("allowed.test", "evilallowed.test"));
  EXPECT_TRUE(Matches("10.0.0.1", "10.0.0.1"));
  EXPECT_FALSE(Matches("10.0.0.1", "10.0.0.2"));
  EXPECT_FALSE(Matches("10.0.0.1", "::ffff:10.0.0.1"));
  EXPECT_TRUE(Matches("fd00:0::1", "[fd00::1]"));
}

TEST(PatternToString, ReadsBackAsTheSame) {
  for (std::string_view text :
       {"a.test", "*.a.test:22", "**.a.test", "10.0.0.1:80", "[fd00::1]:22", "[fd00::1]"}) {
    EXPECT_EQ(ToString(Pattern(text)), text);
  }
  EXPECT_EQ(ToString(Pattern("*.B\u00fccher.Example.:443")), "*.xn--bcher-kva.example:443");
}

// Every pattern of a small alphabet against every host: covering, overlapping
// and intersecting say what matching says.
TEST(Intersect, IsWhatBothMatch) {
  const std::vector<std::string> names = {"a.test", "b.a.test", "c.b.a.test",
                                          "z.test", "1.2.3.4",  "xa.test"};
  std::vector<HostPattern> patterns;
  for (const std::string& name : names) {
    for (const char* wild : {"", "*.", "**."}) {
      if (name == "1.2.3.4" && *wild != '\0') continue;
      for (const char* port : {"", ":80", ":443", ":8443"}) {
        patterns.push_back(Pattern(wild + name + port));
      }
    }
  }
  std::vector<Host> hosts = {*ParseHost("1.2.3.5")};
  for (const std::string& name : names) {
    hosts.push_back(*ParseHost(name));
    if (name != "1.2.3.4") hosts.push_back(*ParseHost("y." + name));
  }
  auto allows = [](const HostPattern& pattern, const Host& host, int port) {
    bool on_port = pattern.port ? *pattern.port == port : port == 80 || port == 443;
    return on_port && MatchesName(pattern, host);
  };
  for (const HostPattern& a : patterns) {
    for (const HostPattern& b : patterns) {
      std::optional<HostPattern> both = Intersect(a, b);
      bool overlap = false, covers = true;
      for (const Host& host : hosts) {
        bool in_a = MatchesName(a, host), in_b = MatchesName(b, host);
        overlap = overlap || (in_a && in_b);
        covers = covers && (in_a || !in_b);
        for (int port : {22, 80, 443, 8443}) {
          bool expected = allows(a, host, port) && allows(b, host, port);
          ASSERT_EQ(both && allows(*both, host, port), expected)
              << a.text << " and " << b.text << " on " << host.name << ":" << port;
        }
      }
      ASSERT_EQ(NamesOverlap(a, b), overlap) << a.text << " " << b.text;
      ASSERT_EQ(CoversName(a, b), covers) << a.text << " " << b.text;
    }
  }
}

}  // namespace
}  // namespace cordon::guard
