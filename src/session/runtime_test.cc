#include "cordon/runtime.h"

#include <gmock/gmock.h>

#include "cordon/policy_builder.h"
#include "host/backend.h"

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kProgram = "/bin/true";  // stands for cordon

Policy Excluding(bool allowed) {
  PolicyBuilder builder("/w");
  builder.Exclude("docker").Exclude("git push");
  if (allowed) builder.AllowUnsandboxed();
  return *builder.Build();
}

Placement At(std::string_view line, const Policy& policy) {
  return *PlaceCommand(line, policy, Bypass::kNo);
}

TEST(RuntimeTest, AWrappedCommandIsTheProgramAndTheWords) {
  Policy policy = *PolicyBuilder("/w").Read("/usr").SetVariable("TOKEN", "s3cret").Build();
  auto line = WrapCommand({"claude", "--", "a b"}, policy, {"/w", kProgram});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->argv, ElementsAre(kProgram, "run", "--policy-env", "CORDON_POLICY",
                                      "--workspace", "/w", "--", "claude", "--", "a b"));
  EXPECT_TRUE(line->contained);
  EXPECT_THAT(line->environment["CORDON_POLICY"], HasSubstr("s3cret"));
  EXPECT_FALSE(WrapCommand({}, policy, {"/w", kProgram}));
  EXPECT_FALSE(WrapCommand({"x"}, policy, {"w", kProgram}));
  EXPECT_FALSE(WrapCommand({"x"}, policy, {"/w", "cordon"}));  // not by PATH
}

TEST(RuntimeTest, OutsideGoesOneSimpleCommand) {
  Policy policy = Excluding(true);
  for (const char* line : {"docker", "docker run -it x", "'docker' ps", "git push origin main"}) {
    EXPECT_EQ(At(line, policy), Placement::kOutside) << line;
  }
  for (const char* line : {"docker ps; id",    "docker ps && id", "docker ps | id",
                           "docker ps & id",   "docker $(id)",    "docker \"$(id)\"",
                           "docker `id`",      "docker <(id)",    "X=1 docker",
                           "docker > f",       "docker < f",      "docker $X",
                           "docker *",         "/tmp/docker",     "./docker",
                           "dockers",          "git pull",        "git",
                           "docker\nid",       "(docker)",        "{ docker; }",
                           "docker ps #\nid",  "env docker",      "",
                           "docker 'unclosed", "! docker",        "time docker",
                           "docker() { id; }", "docker ~",        "docker ~/x",
                           "docker {a,b}"}) {
    EXPECT_EQ(At(line, policy), Placement::kInside) << line;
  }
}

TEST(RuntimeTest, OutsideNeedsPermission) {
  EXPECT_EQ(At("docker ps", Excluding(false)), Placement::kInside);
  EXPECT_EQ(*PlaceCommand("id", Excluding(true), Bypass::kAsked), Placement::kOutside);
  EXPECT_EQ(PlaceCommand("id", Excluding(false), Bypass::kAsked).error().reason,
            Reason::kExecDenied);
  Policy required = Excluding(true);
  required.trust = Trust::kRequire;
  EXPECT_EQ(At("docker ps", required), Placement::kInside);
  EXPECT_FALSE(PlaceCommand("id", required, Bypass::kAsked));
}

TEST(RuntimeTest, OutsideIsAShellOrTheWords) {
  auto words = Transform({.line = "docker 'a b' c", .workspace = "/w"}, Excluding(true));
  EXPECT_THAT(words->argv, ElementsAre("docker", "a b", "c"));
  EXPECT_FALSE(words->contained);
  auto asked =
      Transform({.line = "id; ls", .workspace = "/w", .bypass = Bypass::kAsked}, Excluding(true));
  EXPECT_THAT(asked->argv, ElementsAre("/bin/sh", "-c", "id; ls"));
}

TEST(RuntimeTest, APortIsNothingOutside) {
  auto line = Transform({.line = "docker", .workspace = "/w", .proxy_port = 8080}, Excluding(true));
  EXPECT_THAT(line->argv, ElementsAre("docker"));
  EXPECT_TRUE(line->environment.empty());
}

TEST(RuntimeTest, APortNarrowsAndNeverOpens) {
  TransformRequest request{
      .line = "id", .workspace = "/w", .proxy_port = 8080, .program = kProgram};
  Policy policy = *PolicyBuilder("/w").Network("proxy").AllowHost("a.example").Build();
  auto line = Transform(request, policy);
  ASSERT_TRUE(line);
  EXPECT_THAT(line->environment["CORDON_POLICY"], HasSubstr("8080"));
  request.proxy_port = 0;
  EXPECT_THAT(Transform(request, policy)->environment["CORDON_POLICY"], Not(HasSubstr("8080")));
  request.proxy_port = 8080;
  EXPECT_FALSE(Transform(request, Policy()));  // no network at all
}

TEST(RuntimeTest, NoBackendIsNotAvailable) {
  EXPECT_EQ(host::Choose(host::Backends({})), host::Backend::kNone);
}

TEST(PolicyBuilderTest, SaysWhatAFileWould) {
  Policy policy = *PolicyBuilder("/w")
                       .Read("/usr")
                       .Write("out")
                       .DenyRead("*.env")
                       .Network("proxy")
                       .AllowHost("*.example.org")
                       .HostPort(5432)
                       .WallTime(1500)
                       .Memory(1 << 20)
                       .PassVariable("LANG")
                       .ExternalProxy(3128)
                       .Build();
  EXPECT_EQ(policy.fs.read[0].path, "/usr");
  EXPECT_EQ(policy.fs.write[0].path, "/w/out");
  EXPECT_EQ(policy.fs.deny_read[0].path, "/w/**/*.env");
  EXPECT_EQ(policy.net.mode, NetMode::kProxy);
  EXPECT_EQ(policy.net.host_ports, std::vector{5432});
  EXPECT_EQ(policy.limits.wall_ms, 1500u);
  EXPECT_EQ(policy.limits.memory, uint64_t{1} << 20);
  EXPECT_EQ(policy.net.external->http, 3128);
  EXPECT_EQ(*PolicyBuilder("/w").Build(), Policy());
}

TEST(PolicyBuilderTest, WhatIsWrongIsAnError) {
  EXPECT_EQ(PolicyBuilder("/w").Network("som").Build().error().reason, Reason::kPolicyBadValue);
  EXPECT_EQ(PolicyBuilder("/w").Set("fs.raed", "/x").Build().error().reason,
            Reason::kPolicyUnknownKey);
  EXPECT_FALSE(PolicyBuilder("/w").HostPort(70000).Build());
  EXPECT_FALSE(PolicyBuilder("/w").Preset("no-such").Build());
  EXPECT_FALSE(PolicyBuilder("w").Build());
}

}  // namespace
}  // namespace cordon
