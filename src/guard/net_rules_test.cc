#include "guard/net_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cordon::guard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<HostPattern> Patterns(const std::vector<std::string>& texts) {
  std::vector<HostPattern> patterns;
  for (const std::string& text : texts) {
    auto pattern = ParseHostPattern(text);
    EXPECT_TRUE(pattern) << text;
    pattern->origin = "policy.toml:" + std::to_string(patterns.size() + 1);
    patterns.push_back(*pattern);
  }
  return patterns;
}

NetRules Rules(NetMode mode, const std::vector<std::string>& allow = {},
               const std::vector<std::string>& deny = {}) {
  NetRules rules;
  rules.mode = mode;
  rules.allow = Patterns(allow);
  rules.deny = Patterns(deny);
  return rules;
}

NetDecision Ask(const NetRules& rules, std::string_view host, int port = 443) {
  auto parsed = ParseHost(host);
  EXPECT_TRUE(parsed) << host;
  return DecideHost(rules, *parsed, port);
}
bool Allows(const NetRules& rules, std::string_view host, int port = 443) {
  return Ask(rules, host, port).allowed;
}
bool Answers(const NetRules& rules, std::string_view host) {
  return DecideLookup(rules, *ParseHost(host)).allowed;
}
NetDecision AskAddress(const NetRules& rules, std::string_view address, int port = 0) {
  return DecideAddress(rules, *ParseHost("a.test"), *ParseIp(address), port);
}
bool Resolves(const NetRules& rules, std::string_view address, int port = 0) {
  return AskAddress(rules, address, port).allowed;
}

TEST(DecideHost, NothingIsAllowedByDefault) {
  EXPECT_FALSE(Allows(NetRules{}, "a.test"));
  EXPECT_FALSE(Allows(Rules(NetMode::kNone, {"a.test"}), "a.test"));
  EXPECT_FALSE(Allows(Rules(NetMode::kProxy), "a.test"));
  EXPECT_TRUE(Allows(Rules(NetMode::kProxy, {"a.test"}), "a.test"));
}

TEST(DecideHost, ANameWithoutAPortIsWeb) {
  NetRules rules = Rules(NetMode::kProxy, {"allowed.test", "*.wild.test", "ssh.test:22"});
  EXPECT_TRUE(Allows(rules, "allowed.test", 80));
  EXPECT_TRUE(Allows(rules, "ALLOWED.test.", 443));
  EXPECT_TRUE(Allows(rules, "deep.a.wild.test", 443));
  for (int port : {22, 25, 8080}) EXPECT_FALSE(Allows(rules, "allowed.test", port)) << port;
  EXPECT_FALSE(Allows(rules, "wild.test"));
  EXPECT_FALSE(Allows(rules, "evil.test"));
  EXPECT_TRUE(Allows(rules, "ssh.test", 22));
  EXPECT_FALSE(Allows(rules, "ssh.test", 443));
}

TEST(DecideHost, DenyBeatsAllowOnEveryPortUnlessItNamesOne) {
  NetRules rules =
      Rules(NetMode::kProxy, {"**.a.test", "**.a.test:22"}, {"b.a.test", "c.a.test:22"});
  EXPECT_TRUE(Allows(rules, "a.test", 22));
  EXPECT_FALSE(Allows(rules, "b.a.test", 443));
  EXPECT_FALSE(Allows(rules, "b.a.test", 22));
  EXPECT_TRUE(Allows(rules, "c.a.test", 443));
  EXPECT_FALSE(Allows(rules, "c.a.test", 22));
  EXPECT_FALSE(Allows(Rules(NetMode::kOpen, {}, {"b.test"}), "b.test"));
  EXPECT_FALSE(Allows(Rules(NetMode::kPublic, {}, {"b.test"}), "b.test"));
  EXPECT_TRUE(Allows(Rules(NetMode::kPublic, {}, {"b.test"}), "a.test"));
}

TEST(DecideHost, SaysWhichRuleAndWhatWouldHelp) {
  NetRules rules = Rules(NetMode::kProxy, {"a.test", "b.test"}, {"b.test"});
  EXPECT_EQ(Ask(rules, "a.test").rule, "allow a.test (policy.toml:1)");
  NetDecision denied = Ask(rules, "b.test");
  EXPECT_EQ(denied.rule, "deny b.test (policy.toml:1)");
  EXPECT_EQ(denied.reason, Reason::kHostDenied);
  EXPECT_EQ(denied.hint, "");
  EXPECT_EQ(Ask(rules, "c.test").rule, "no rule allows it");
  EXPECT_EQ(Ask(rules, "c.test").hint, "net.allow = [\"c.test\"]");
  EXPECT_EQ(Ask(rules, "c.test", 22).hint, "net.allow = [\"c.test:22\"]");
  EXPECT_THAT(Ask(rules, "a.test", 22).rule, HasSubstr("allow a.test (policy.toml:1)"));
  EXPECT_EQ(Ask(rules, "[2606:4700::1]", 22).hint, "net.allow = [\"[2606:4700::1]:22\"]");
}

TEST(DecideHost, AnAddressNeedsItsOwnPattern) {
  NetRules rules = Rules(NetMode::kProxy, {"*.wild.test", "10.0.0.5:5432", "9.9.9.9"});
  EXPECT_TRUE(Allows(rules, "10.0.0.5", 5432));
  EXPECT_FALSE(Allows(rules, "10.0.0.5", 443));
  EXPECT_TRUE(Allows(rules, "9.9.9.9", 443));
  EXPECT_FALSE(Allows(rules, "8.8.8.8", 443));
  EXPECT_FALSE(Allows(rules, "::ffff:9.9.9.9", 443));
  NetRules metadata = Rules(NetMode::kProxy, {"169.254.169.254"});
  EXPECT_EQ(Ask(metadata, "169.254.169.254", 80).reason, Reason::kAddressDenied);
}

TEST(DecideHost, PublicTakesPublicNamesAndAddresses) {
  NetRules rules = Rules(NetMode::kPublic);
  for (const char* host : {"example.com", "a.b.example", "1.1.1.1", "2606:4700::1"}) {
    EXPECT_TRUE(Allows(rules, host)) << host;
    EXPECT_TRUE(Allows(rules, host, 22)) << host;
  }
  for (const char* host : {"127.0.0.1",
                           "10.0.0.1",
                           "::1",
                           "fd00::1",
                           "64:ff9b::7f00:1",
                           "::ffff:8.8.8.8",
                           "64:ff9b::8.8.8.8",
                           "2002:808:808::",
                           "localhost",
                           "foo.localhost",
                           "ip6-localhost",
                           "metadata",
                           "intranet",
                           "host.docker.internal",
                           "printer.local",
                           "kubernetes.default.svc",
                           "kubernetes.default",
                           "nas.home.arpa",
                           "router.lan",
                           "metadata.google.internal",
                           "metadata.goog",
                           "metadata.tencentyun.com",
                           "metadata.packet.net"}) {
    EXPECT_FALSE(Allows(rules, host)) << host;
    EXPECT_FALSE(Answers(rules, host)) << host;
  }
  rules.private_addresses = AddressMode::kAllow;
  EXPECT_TRUE(Allows(rules, "printer.local"));
  EXPECT_TRUE(Allows(rules, "10.0.0.1"));
  EXPECT_FALSE(Allows(rules, "127.0.0.1"));
  EXPECT_FALSE(Allows(rules, "metadata.google.internal"));
  EXPECT_TRUE(Allows(Rules(NetMode::kPublic, {"git.corp"}), "git.corp"));
}

TEST(DecideHost, MetadataAndLoopbackNamesStayDeniedWhenAllowed) {
  NetRules rules = Rules(NetMode::kProxy, {"metadata.google.internal", "localhost", "x.internal"});
  EXPECT_FALSE(Allows(rules, "metadata.google.internal"));
  EXPECT_FALSE(Allows(rules, "localhost"));
  EXPECT_THAT(Ask(rules, "localhost").hint, HasSubstr("host_ports"));
  EXPECT_TRUE(Allows(rules, "x.internal"));
  NetRules loopback = Rules(NetMode::kProxy, {"localhost:8080", "127.0.0.1:8080"});
  EXPECT_TRUE(Allows(loopback, "localhost", 8080));
  EXPECT_FALSE(Allows(loopback, "localhost", 443));
}

TEST(DecideLookup, AsksForSomePort) {
  NetRules rules = Rules(NetMode::kProxy, {"a.test:22", "**.b.test"}, {"x.b.test", "y.b.test:22"});
  EXPECT_TRUE(Answers(rules, "a.test"));
  EXPECT_TRUE(Answers(rules, "c.b.test"));
  EXPECT_FALSE(Answers(rules, "x.b.test"));
  EXPECT_TRUE(Answers(rules, "y.b.test"));
  EXPECT_FALSE(Answers(rules, "secret-data.evil.test"));
  EXPECT_FALSE(Answers(Rules(NetMode::kNone), "a.test"));
  EXPECT_TRUE(Answers(Rules(NetMode::kOpen), "a.test"));
}

TEST(DecideAddress, OnlyPublicOnesUnlessThePolicySaysSo) {
  NetRules rules = Rules(NetMode::kProxy, {"a.test"});
  EXPECT_TRUE(Resolves(rules, "93.184.216.34"));
  EXPECT_TRUE(Resolves(rules, "64:ff9b::8.8.8.8"));  // a network with DNS64
  for (const char* address :
       {"127.0.0.1", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.1.1", "169.254.169.254",
        "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "240.0.0.1", "::1",
        "::", "fd00::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::"}) {
    EXPECT_FALSE(Resolves(rules, address)) << address;
    EXPECT_EQ(AskAddress(rules, address).reason, Reason::kAddressDenied);
  }
  EXPECT_EQ(AskAddress(rules, "10.0.0.1").rule, "a.test: 10.0.0.1 is private");
  EXPECT_THAT(AskAddress(rules, "10.0.0.1").hint, HasSubstr("net.private_addresses"));
}

TEST(DecideAddress, PrivateAddressesAllowsPrivateAndSharedAlone) {
  NetRules rules = Rules(NetMode::kProxy, {"a.test"});
  rules.private_addresses = AddressMode::kAllow;
  for (const char* address : {"10.0.0.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1"}) {
    EXPECT_TRUE(Resolves(rules, address)) << address;
  }
  for (const char* address : {"127.0.0.1", "169.254.1.1", "169.254.169.254", "100.100.100.200",
                              "fd00:ec2::254", "0.0.0.0", "64:ff9b::169.254.169.254"}) {
    EXPECT_FALSE(Resolves(rules, address)) << address;
  }
}

TEST(DecideAddress, ALiteralIsAllowedOnItsPorts) {
  NetRules rules = Rules(NetMode::kProxy, {"a.test", "127.0.0.1:8080", "169.254.169.254"});
  EXPECT_TRUE(Resolves(rules, "127.0.0.1", 8080));
  EXPECT_TRUE(Resolves(rules, "127.0.0.1"));
  EXPECT_FALSE(Resolves(rules, "127.0.0.1", 443));
  EXPECT_FALSE(Resolves(rules, "::ffff:127.0.0.1", 8080));
  EXPECT_FALSE(Resolves(rules, "169.254.169.254", 80));
}

TEST(DecideAddress, DenyHoldsForAnswersInEveryForm) {
  NetRules rules = Rules(NetMode::kPublic, {}, {"8.8.8.8", "9.9.9.9:53"});
  EXPECT_FALSE(Resolves(rules, "8.8.8.8", 443));
  EXPECT_FALSE(Resolves(rules, "64:ff9b::8.8.8.8", 443));
  EXPECT_FALSE(Resolves(rules, "9.9.9.9", 53));
  EXPECT_TRUE(Resolves(rules, "9.9.9.9", 443));
  EXPECT_TRUE(Resolves(rules, "8.8.4.4", 443));
}

TEST(DecideAddress, TheHostsOwnAddressIsNoneOfTheirs) {
  NetRules rules = Rules(NetMode::kPublic);
  rules.own_addresses = {*ParseIp("93.184.216.10"), *ParseIp("2606:4700::5")};
  EXPECT_FALSE(Resolves(rules, "93.184.216.10"));
  EXPECT_FALSE(Resolves(rules, "64:ff9b::93.184.216.10"));
  EXPECT_FALSE(Resolves(rules, "2606:4700::5"));
  EXPECT_FALSE(Allows(rules, "93.184.216.10"));
  EXPECT_TRUE(Resolves(rules, "93.184.216.11"));
  rules.allow = Patterns({"93.184.216.10"});
  EXPECT_TRUE(Resolves(rules, "93.184.216.10"));
}

TEST(AllowedPorts, AreThoseOfTheRulesAndTheUsualThree) {
  EXPECT_THAT(AllowedPorts(NetRules{}), ElementsAre(22, 80, 443));
  EXPECT_THAT(AllowedPorts(Rules(NetMode::kProxy, {"a.test:8443", "b.test", "c.test:22"})),
              ElementsAre(22, 80, 443, 8443));
}

TEST(DecideDeny, SaysOnlyWhatIsDenied) {
  NetRules rules;
  rules.mode = NetMode::kProxy;
  rules.deny = {*ParseHostPattern("*.evil.test", PatternUse::kDeny),
                *ParseHostPattern("a.test:443", PatternUse::kDeny)};
  EXPECT_FALSE(DecideDeny(rules, *ParseHost("x.evil.test"), 8443).allowed);
  EXPECT_FALSE(DecideDeny(rules, *ParseHost("a.test"), 443).allowed);
  EXPECT_TRUE(DecideDeny(rules, *ParseHost("a.test"), 80).allowed);
  EXPECT_TRUE(DecideDeny(rules, *ParseHost("not-listed.test"), 443).allowed);
}

TEST(DecideAnswers, OneDeniedAnswerDeniesAll) {
  NetRules rules = Rules(NetMode::kPublic);
  Host host = *ParseHost("a.test");
  IpAddress first = *ParseIp("1.1.1.1"), second = *ParseIp("2606:4700:4700::1111");
  AnswerDecision both = DecideAnswers(rules, host, {first, second}, 443);
  EXPECT_TRUE(both.decision.allowed);
  EXPECT_EQ(both.address, first);
  for (const char* inner : {"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1",
                            "64:ff9b::7f00:1", "2002:7f00:1::"}) {
    EXPECT_FALSE(DecideAnswers(rules, host, {first, *ParseIp(inner)}, 443).decision.allowed)
        << inner;
  }
  EXPECT_FALSE(DecideAnswers(rules, host, {}, 443).decision.allowed);
}

TEST(DecideHost, NamesThatStandForAnyAddressNeedARule) {
  for (const char* name : {"127.0.0.1.nip.io", "a.sslip.io", "localtest.me", "x.lvh.me"}) {
    EXPECT_FALSE(Allows(Rules(NetMode::kPublic), name)) << name;
    EXPECT_TRUE(Allows(Rules(NetMode::kPublic, {name}), name)) << name;
  }
  EXPECT_TRUE(Allows(Rules(NetMode::kPublic), "snip.io"));
}

}  // namespace
}  // namespace cordon::guard
