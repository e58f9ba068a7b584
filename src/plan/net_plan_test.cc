#include "plan/net_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "host/fake_paths.h"

namespace cordon::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

class PlanNetTest : public testing::Test {
 protected:
  PlanNetTest() {
    paths_.Socket("/run/a.sock").Socket("/run/docker.sock").Socket("/run/systemd/x").File("/plain");
    paths_.Link("/var/link", "/run/docker.sock");
    policy_ = Proxy({{"a.test", {}}, {"b.test:8443", {}}});
  }

  static PathRule Rule(std::string path) { return {.path = std::move(path), .origin = {"p", 3}}; }

  Result<NetPlan> Try() {
    return PlanNet({.policy = policy_, .probe = paths_, .environment = environment_, .ipv6 = true});
  }
  NetPlan Plan() {
    Result<NetPlan> plan = Try();
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? std::move(*plan) : NetPlan{};
  }
  std::string Refusal(Reason reason = Reason::kPolicyBadValue) {
    Result<NetPlan> plan = Try();
    EXPECT_FALSE(plan);
    if (plan) return {};
    EXPECT_EQ(plan.error().reason, reason) << plan.error().message;
    return plan.error().message + " / " + plan.error().hint;
  }

  host::FakePaths paths_;
  Policy policy_;
  std::map<std::string, std::string> environment_;
};

TEST_F(PlanNetTest, TheZeroPolicyHasNoNetwork) {
  policy_ = {};
  environment_ = {{"HTTPS_PROXY", "http://parent:1"}};
  EXPECT_EQ(Plan(), NetPlan{.ipv6 = true});
  EXPECT_TRUE(Plan().own_namespace());
  EXPECT_FALSE(Plan().proxied());
}

TEST_F(PlanNetTest, CapturesThePortsOfTheRules) {
  NetPlan net = Plan();
  EXPECT_TRUE(net.proxied());
  EXPECT_THAT(net.ports, ElementsAre(22, 80, 443, 8443));
  EXPECT_EQ(net.rules.allow.size(), 2u);
  policy_.net.host_ports = {8443, 5432, 5432};
  net = Plan();
  EXPECT_THAT(net.ports, ElementsAre(22, 80, 443));
  EXPECT_THAT(net.host_ports, ElementsAre(8443, 5432));
  policy_.net.allow.push_back({"c.test:3128", {}});
  policy_.net.allow.push_back({"c.test:53", {}});
  EXPECT_THAT(Plan().ports, ElementsAre(22, 80, 443));
}

TEST_F(PlanNetTest, TooManyPortsAreRefused) {
  for (int port = 1000; port < 1000 + static_cast<int>(kMostPorts) - 4; ++port) {
    policy_.net.allow.push_back({"c.test:" + std::to_string(port), {}});
  }
  EXPECT_EQ(Plan().ports.size(), kMostPorts);
  policy_.net.allow.push_back({"c.test:9999", {}});
  EXPECT_THAT(Refusal(), HasSubstr("65 ports"));
}

TEST_F(PlanNetTest, APortInsideHasOneUse) {
  for (int port : {kProxyPort, kDnsPort}) {
    policy_.net.host_ports = {port};
    EXPECT_THAT(Refusal(), HasSubstr("net.host_ports: " + std::to_string(port)));
    policy_.net.mode = NetMode::kNone;
    EXPECT_TRUE(Try()) << port;
    policy_.net.mode = NetMode::kProxy;
  }
  policy_.net.host_ports = {3000};
  EXPECT_TRUE(Try());
  policy_.net.publish = {3000};
  EXPECT_THAT(Refusal(), HasSubstr("net.publish"));
}

TEST_F(PlanNetTest, AnExternalProxyIsReachedAsAHostPort) {
  policy_.net.external = {.http = 3128, .socks = 1080};
  policy_.net.host_ports = {1080, 5432};
  NetPlan net = Plan();
  EXPECT_THAT(net.host_ports, ElementsAre(1080, 5432, 3128));
  EXPECT_THAT(net.ports, IsEmpty());
  EXPECT_EQ(net.external, policy_.net.external);
  policy_.net.external = {.http = 8080, .socks = 8080};
  EXPECT_THAT(Plan().host_ports, ElementsAre(1080, 5432, 8080));
}

TEST_F(PlanNetTest, SshNeedsACommandWhereNothingIsCaptured) {
  EXPECT_EQ(SshCommand(Plan(), "/usr/bin/cordon"), "");
  policy_.net.external = {.http = 8080};
  EXPECT_EQ(SshCommand(Plan(), "/usr/bin/cordon"),
            "ssh -o ProxyCommand='/usr/bin/cordon connect %h %p'");
  for (const char* program : {"", "cordon", "/a b/cordon", "/a'/cordon", "/a%h/cordon"}) {
    EXPECT_EQ(SshCommand(Plan(), program), "") << program;
  }
  policy_ = {};
  EXPECT_EQ(SshCommand(Plan(), "/usr/bin/cordon"), "");
}

TEST_F(PlanNetTest, TheParentComesFromThePolicyOrTheEnvironment) {
  environment_ = {{"HTTP_PROXY", "http://third"}, {"ALL_PROXY", "socks5h://second"}};
  EXPECT_EQ(Plan().upstream, "socks5h://second");
  environment_["https_proxy"] = "";
  environment_["HTTPS_PROXY"] = "http://first";
  environment_["no_proxy"] = "x.test";
  EXPECT_EQ(Plan().upstream, "http://first");
  EXPECT_EQ(Plan().no_proxy, "x.test");
  policy_.net.upstream = "http://chosen";
  EXPECT_EQ(Plan().upstream, "http://chosen");
}

TEST_F(PlanNetTest, AChangedPolicyChangesWhoMayBeReached) {
  policy_.net.tls_intercept = {{"a.test", {}}};
  Policy now = policy_;
  now.net.allow = {{"b.test", {}}};
  now.net.tls_intercept = {};
  auto rules = ReplanNetRules(policy_, now);
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->allow.size(), 1u);
  EXPECT_EQ(rules->intercept.size(), 1u);
  now.net.mode = NetMode::kNone;
  EXPECT_THAT(ReplanNetRules(policy_, now)->allow, IsEmpty());
  EXPECT_EQ(ReplanNetRules(policy_, now)->mode, NetMode::kProxy);
  now.net.mode = NetMode::kOpen;
  EXPECT_FALSE(ReplanNetRules(policy_, now));
  now.net.mode = NetMode::kProxy;
  now.net.external = {.http = 8080};
  EXPECT_FALSE(ReplanNetRules(policy_, now));
}

TEST_F(PlanNetTest, OpenHasNothingOfItsOwn) {
  policy_ = {};
  policy_.net.mode = NetMode::kOpen;
  policy_.net.host_ports = {5432};
  NetPlan net = Plan();
  EXPECT_FALSE(net.own_namespace());
  EXPECT_THAT(net.host_ports, IsEmpty());
  policy_.net.publish = {3000};
  EXPECT_THAT(Refusal(), HasSubstr("net.publish"));
  policy_.net.publish = {};
  policy_.net.deny = {{"a.test", {}}};
  EXPECT_THAT(Refusal(), HasSubstr("net.deny"));
}

TEST_F(PlanNetTest, AnExternalProxyThatIsStartedIsWhereOursWouldBe) {
  policy_.net.external = {.command = {"my-proxy"}};
  NetPlan net = Plan();
  EXPECT_THAT(net.host_ports, ElementsAre(kProxyPort));
  EXPECT_EQ(net.external->http, kProxyPort);
  EXPECT_EQ(ProxyVariables(net)["HTTPS_PROXY"], "http://127.0.0.1:3128");
  EXPECT_FALSE(ProxyVariables(net).contains("ALL_PROXY"));
  policy_.net.host_ports = {kProxyPort};
  EXPECT_THAT(Refusal(), HasSubstr("net.host_ports"));
}

TEST_F(PlanNetTest, WhatOnlyAProxyCanDoNeedsOne) {
  policy_.net.mode = NetMode::kNone;
  policy_.net.rules = {{.host = "a.test"}};
  EXPECT_THAT(Refusal(), HasSubstr("net.rule"));
  policy_.net.rules = {};
  policy_.net.external = {.http = 1};
  EXPECT_THAT(Refusal(), HasSubstr("net.external"));
}

TEST_F(PlanNetTest, ListedSockets) {
  policy_.net.unix_sockets = {Rule("/run/a.sock")};
  policy_.net.unix_sockets_dangerous = {Rule("/var/link")};
  EXPECT_THAT(Plan().unix_sockets,
              ElementsAre(testing::Field(&SocketGrant::path, "/run/a.sock"),
                          testing::Field(&SocketGrant::path, "/run/docker.sock")));
  policy_.net.unix_sockets = {Rule("/plain")};
  EXPECT_THAT(Refusal(), HasSubstr("p:3: net.unix_sockets: /plain is not a socket"));
  policy_.net.unix_sockets = {Rule("/none")};
  EXPECT_THAT(Refusal(Reason::kPolicyPathMissing), HasSubstr("?/none"));
  policy_.net.unix_sockets[0].optional = true;
  EXPECT_THAT(Plan().unix_sockets,
              ElementsAre(testing::Field(&SocketGrant::path, "/run/docker.sock")));
}

TEST_F(PlanNetTest, AGrantOfTheHostIsListedAsSuch) {
  for (const char* path : {"/run/docker.sock", "/var/link", "/run/systemd/x"}) {
    policy_.net.unix_sockets = {Rule(path)};
    EXPECT_THAT(Refusal(), HasSubstr("net.unix_sockets_dangerous")) << path;
  }
}

class NameServiceFilesTest : public testing::Test {
 protected:
  NameServiceFilesTest() {
    paths_.Link("/etc/resolv.conf", "/run/resolve/made.conf")
        .File("/run/resolve/made.conf", "nameserver x");
    paths_.File("/etc/hosts").Directory("/tmp");
    policy_.read = {{.path = "/"}};
    net_.mode = NetMode::kProxy;
  }
  std::map<std::string, std::string> Files(const std::string& hostname = {}) {
    Result<FsPlan> fs = PlanFs({.policy = policy_, .probe = paths_, .workspace = "/w"});
    EXPECT_TRUE(fs) << fs.error().message;
    std::map<std::string, std::string> files;
    for (auto& file : NameServiceFiles(net_, *fs, paths_, hostname)) files[file.path] = file.text;
    return files;
  }

  host::FakePaths paths_;
  FsPolicy policy_;
  NetPlan net_;
};

TEST_F(NameServiceFilesTest, StandWhereTheHostsAre) {
  auto files = Files("box");
  EXPECT_EQ(files.size(), 2u);
  EXPECT_EQ(files["/run/resolve/made.conf"], "nameserver 127.0.0.1\n");
  EXPECT_THAT(files["/etc/hosts"], HasSubstr("127.0.0.1 localhost\n"));
  EXPECT_THAT(files["/etc/hosts"], HasSubstr("127.0.1.1 box\n"));
  EXPECT_THAT(Files()["/etc/hosts"], Not(HasSubstr("127.0.1.1")));
  paths_.File("/etc/nsswitch.conf");
  EXPECT_THAT(Files()["/etc/nsswitch.conf"], HasSubstr("hosts: files dns\n"));
}

TEST_F(NameServiceFilesTest, NotWhereTheCommandSeesNothing) {
  policy_.read = {{.path = "/etc"}};
  EXPECT_THAT(Files(), ElementsAre(testing::Key("/etc/hosts")));
  policy_.deny_read = {{.path = "/etc/hosts"}};
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(NameServiceFilesTest, OnlyWithAProxy) {
  for (NetMode mode : {NetMode::kNone, NetMode::kOpen}) {
    net_.mode = mode;
    EXPECT_THAT(Files(), IsEmpty());
  }
  net_.mode = NetMode::kPublic;
  EXPECT_EQ(Files().size(), 2u);
}

TEST(ProxyVariables, LeadToOurPort) {
  EXPECT_THAT(ProxyVariables({}), IsEmpty());
  EXPECT_THAT(ProxyVariables({.mode = NetMode::kOpen}), IsEmpty());
  auto variables = ProxyVariables({.mode = NetMode::kProxy});
  for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"}) {
    EXPECT_EQ(variables[name], "http://127.0.0.1:3128") << name;
  }
  for (const char* name : {"ALL_PROXY", "all_proxy"}) {
    EXPECT_EQ(variables[name], "socks5h://127.0.0.1:3128") << name;
  }
  EXPECT_EQ(variables["no_proxy"], "localhost,.localhost,127.0.0.1,127.0.0.0/8,0.0.0.0,::1");
  EXPECT_EQ(variables["RSYNC_PROXY"], "127.0.0.1:3128");
  EXPECT_THAT(variables["JAVA_TOOL_OPTIONS"], HasSubstr("-Dhttps.proxyPort=3128"));
  EXPECT_EQ(ProxyVariables({.mode = NetMode::kPublic}), variables);
}

TEST(ProxyVariables, OfAnExternalProxy) {
  NetPlan net{.mode = NetMode::kProxy, .external = ExternalProxy{.http = 8080}};
  auto variables = ProxyVariables(net);
  EXPECT_EQ(variables["https_proxy"], "http://127.0.0.1:8080");
  EXPECT_FALSE(variables.contains("all_proxy"));
  net.external = ExternalProxy{.socks = 1080};
  variables = ProxyVariables(net);
  EXPECT_EQ(variables["all_proxy"], "socks5h://127.0.0.1:1080");
  EXPECT_FALSE(variables.contains("https_proxy"));
  EXPECT_FALSE(variables.contains("JAVA_TOOL_OPTIONS"));
}

}  // namespace
}  // namespace cordon::plan
