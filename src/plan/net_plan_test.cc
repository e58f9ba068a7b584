#include "plan/net_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cordon::plan {
namespace {

using ::testing::HasSubstr;

Policy Proxy(Entries allow, Entries deny = {}) {
  Policy policy;
  policy.net.mode = NetMode::kProxy;
  policy.net.allow = std::move(allow);
  policy.net.deny = std::move(deny);
  policy.origins["net.mode"] = {"p.toml", 2};
  return policy;
}

Verdict Ask(const Policy& policy, std::string_view target) {
  auto parsed = guard::ParseHostPort(target, 443);
  EXPECT_TRUE(parsed) << target;
  auto verdict = ExplainConnect(policy, *parsed);
  EXPECT_TRUE(verdict) << target;
  return *verdict;
}

TEST(ResolveNetRules, ExpandsListsAndKeepsPlaces) {
  Policy policy = Proxy({{"a.test:22", {"p.toml", 7}}, {"@codeberg", {"preset workspace", 210}}},
                        {{"*.com", {"flag --deny-domain", 0}}});
  policy.net.private_addresses = AddressMode::kAllow;
  auto rules = ResolveNetRules(policy);
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->mode, NetMode::kProxy);
  EXPECT_EQ(rules->private_addresses, AddressMode::kAllow);
  ASSERT_EQ(rules->allow.size(), 3u);
  EXPECT_EQ(rules->allow[0].origin, "p.toml:7");
  EXPECT_EQ(rules->allow[0].port, 22);
  EXPECT_EQ(rules->allow[1].text, "**.codeberg.org");
  EXPECT_EQ(rules->allow[2].origin, "@codeberg, preset workspace:210");
  ASSERT_EQ(rules->deny.size(), 1u);
  EXPECT_EQ(rules->deny[0].origin, "flag --deny-domain");
}

TEST(ResolveNetRules, AnErrorHasItsPlace) {
  for (const char* text : {"*", "*.com", "@nothing", "127.1"}) {
    auto rules = ResolveNetRules(Proxy({{"a.test", {}}, {text, {"p.toml", 9}}}));
    ASSERT_FALSE(rules) << text;
    EXPECT_EQ(rules.error().reason, Reason::kPolicyBadValue);
    EXPECT_THAT(rules.error().message, HasSubstr("p.toml:9: net.allow: ")) << text;
  }
  EXPECT_TRUE(ResolveNetRules(Policy{}));
}

TEST(ExplainConnect, NamesTheRuleAndItsLine) {
  Policy policy = Proxy({{"**.a.test", {"p.toml", 7}}, {"@codeberg", {"preset x", 3}}},
                        {{"b.a.test", {"p.toml", 8}}});
  Verdict allowed = Ask(policy, "c.a.test");
  EXPECT_TRUE(allowed.allowed);
  EXPECT_EQ(allowed.rule, "net.allow **.a.test (p.toml:7)");
  EXPECT_EQ(allowed.source, "p.toml");
  EXPECT_EQ(allowed.line, 7);
  Verdict listed = Ask(policy, "codeberg.org:22");
  EXPECT_TRUE(listed.allowed);
  EXPECT_EQ(listed.source, "preset x");
  EXPECT_EQ(listed.line, 3);
  Verdict denied = Ask(policy, "b.a.test");
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.rule, "net.deny b.a.test (p.toml:8)");
  EXPECT_EQ(denied.hint, "");
  Verdict missing = Ask(policy, "z.test:8443");
  EXPECT_FALSE(missing.allowed);
  EXPECT_EQ(missing.rule, "net.mode = \"proxy\" p.toml:2");
  EXPECT_EQ(missing.detail, "no rule allows it");
  EXPECT_EQ(missing.hint, "net.allow = [\"z.test:8443\"] would allow it");
}

TEST(ExplainConnect, KnowsTheModes) {
  Policy policy;
  EXPECT_FALSE(Ask(policy, "a.test").allowed);
  EXPECT_THAT(Ask(policy, "a.test").hint, HasSubstr("net.mode = \"proxy\""));
  policy.net.mode = NetMode::kPublic;
  EXPECT_TRUE(Ask(policy, "a.test").allowed);
  EXPECT_FALSE(Ask(policy, "10.0.0.1").allowed);
  EXPECT_FALSE(Ask(policy, "169.254.169.254:80").allowed);
  policy.net.mode = NetMode::kOpen;
  EXPECT_TRUE(Ask(policy, "10.0.0.1").allowed);
}

TEST(ExplainConnect, LoopbackIsTheSandboxsOwn) {
  Policy policy = Proxy({{"localhost", {}}});
  policy.net.host_ports = {5432};
  for (const char* host : {"localhost", "127.0.0.1", "[::1]", "x.localhost"}) {
    EXPECT_TRUE(Ask(policy, std::string(host) + ":5432").allowed) << host;
    Verdict denied = Ask(policy, std::string(host) + ":80");
    EXPECT_FALSE(denied.allowed) << host;
    EXPECT_THAT(denied.hint, HasSubstr("net.host_ports = [80]"));
  }
}

}  // namespace
}  // namespace cordon::plan
