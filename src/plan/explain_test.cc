#include "plan/explain.h"

#include <gtest/gtest.h>

#include "host/fake_paths.h"

namespace cordon::plan {
namespace {

// A host with a home, a workspace that is a repository, and a policy like the
// default one.
class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    paths_.Directory("/tmp")
        .Directory("/var/tmp")
        .File("/etc/hosts")
        .File("/usr/bin/tool", "", 0755)
        .Link("/bin", "usr/bin")
        .File("/home/me/.ssh/id")
        .File("/home/me/.ssh/known_hosts")
        .Link("/home/me/.ssh/out", "/etc/hosts")
        .File("/home/me/w/a")
        .Directory("/home/me/w/.git/hooks")
        .File("/home/me/w/.git/config")
        .Link("/home/me/w/out", "/etc/new")
        .Link("/tmp/link", "/etc/hosts")
        .File("/proc/kallsyms");
    policy_.fs.read = {Rule("/", 3)};
    policy_.fs.write = {Rule("/home/me/w", 4)};
    policy_.fs.deny_read = {Rule("/home/me/.ssh", 5), Rule("/home/me/.netrc", 6)};
    policy_.fs.deny_read.back().optional = true;
    policy_.fs.allow_read_within_deny = {Rule("/home/me/.ssh/known_hosts", 7)};
    policy_.fs.temp = TempMode::kPrivate;
  }

  static PathRule Rule(std::string path, int line) {
    return {.path = std::move(path), .origin = {"policy.toml", line}};
  }

  Explanation Ask(Act act, const std::string& path) {
    host::Facts facts{.landlock_abi = 7, .uid = 1000, .gid = 1000, .home = "/home/me"};
    Result<Plan> plan = MakePlan({.policy = policy_,
                                  .facts = facts,
                                  .probe = paths_,
                                  .command = {{"true"}, "/home/me/w"},
                                  .workspace = "/home/me/w"});
    EXPECT_TRUE(plan) << plan.error().message;
    return Explain(*plan, policy_.fs, paths_, act, path);
  }

  host::FakePaths paths_;
  Policy policy_;
};

TEST_F(ExplainTest, NamesTheRuleItsFileAndItsLine) {
  Explanation answer = Ask(Act::kRead, "/etc/hosts");
  EXPECT_TRUE(answer.verdict.allowed);
  EXPECT_EQ(answer.verdict.rule, "fs.read policy.toml:3");
  EXPECT_EQ(answer.verdict.source, "policy.toml");
  EXPECT_EQ(answer.verdict.line, 3);
  EXPECT_TRUE(answer.on_host);
}

TEST_F(ExplainTest, WritesReachTheWritableRootAndNoOther) {
  EXPECT_TRUE(Ask(Act::kWrite, "/home/me/w/a").verdict.allowed);
  EXPECT_TRUE(Ask(Act::kWrite, "/home/me/w/new/file").verdict.allowed);
  Explanation answer = Ask(Act::kWrite, "/etc/hosts");
  EXPECT_FALSE(answer.verdict.allowed);
  EXPECT_EQ(answer.verdict.hint, "fs.write or --write would allow it");
}

TEST_F(ExplainTest, ADanglingLinkIsFollowedToWhereItWouldWrite) {
  Explanation answer = Ask(Act::kWrite, "/home/me/w/out");
  EXPECT_EQ(answer.path, "/etc/new");
  EXPECT_FALSE(answer.verdict.allowed);
}

TEST_F(ExplainTest, TheFloorHoldsForWhatExistsAndWhatDoesNot) {
  for (const char* path : {"/home/me/w/.git/hooks/x", "/home/me/w/.mcp.json"}) {
    Explanation answer = Ask(Act::kWrite, path);
    EXPECT_FALSE(answer.verdict.allowed) << path;
    EXPECT_EQ(answer.verdict.rule, "floor built in") << path;
  }
  EXPECT_EQ(Ask(Act::kWrite, "/home/me/w/.git/config").verdict.hint,
            "fs.git = \"allow-config\" would allow it");
  EXPECT_TRUE(Ask(Act::kRead, "/home/me/w/.git/config").verdict.allowed);
}

TEST_F(ExplainTest, DeniedReadsHaveTheirLineAndTheWayOut) {
  Explanation answer = Ask(Act::kRead, "/home/me/.ssh/id");
  EXPECT_FALSE(answer.verdict.allowed);
  EXPECT_EQ(answer.verdict.line, 5);
  EXPECT_EQ(answer.verdict.hint,
            "fs.allow_read_within_deny = [\"/home/me/.ssh/id\"] would allow it");
  EXPECT_TRUE(Ask(Act::kRead, "/home/me/.ssh/known_hosts").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kWrite, "/home/me/.ssh/known_hosts").verdict.allowed);
}

TEST_F(ExplainTest, WhatIsDeniedAndMissingIsDenied) {
  Explanation answer = Ask(Act::kRead, "/home/me/.netrc");
  EXPECT_FALSE(answer.verdict.allowed);
  EXPECT_FALSE(answer.exists);
  EXPECT_EQ(answer.verdict.line, 6);
}

TEST_F(ExplainTest, ALinkInAMaskedDirectoryCannotBeFollowed) {
  EXPECT_TRUE(Ask(Act::kRead, "/etc/hosts").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kRead, "/home/me/.ssh/out").verdict.allowed);
}

TEST_F(ExplainTest, ALinkInAPrivateDirectoryIsNotThere) {
  Explanation answer = Ask(Act::kRead, "/tmp/link");
  EXPECT_EQ(answer.path, "/tmp/link");
  EXPECT_FALSE(answer.verdict.allowed);
  EXPECT_EQ(answer.verdict.rule, "fs.temp");
  EXPECT_FALSE(answer.on_host);
}

TEST_F(ExplainTest, APrivateDirectoryHasNothingOfTheHosts) {
  paths_.File("/tmp/secret");
  EXPECT_FALSE(Ask(Act::kRead, "/tmp/secret").verdict.allowed);
  EXPECT_TRUE(Ask(Act::kWrite, "/tmp/secret").verdict.allowed);
  EXPECT_TRUE(Ask(Act::kRead, "/tmp").verdict.allowed);
  policy_.fs.read.push_back(Rule("/tmp/secret", 8));
  EXPECT_EQ(Ask(Act::kRead, "/tmp/secret").verdict.line, 8);
}

TEST_F(ExplainTest, ExecAsksForTheExecutableBit) {
  EXPECT_TRUE(Ask(Act::kExecute, "/bin/tool").verdict.allowed);
  EXPECT_EQ(Ask(Act::kExecute, "/etc/hosts").verdict.rule, "file mode");
  EXPECT_FALSE(Ask(Act::kExecute, "/home/me").verdict.allowed);
}

TEST_F(ExplainTest, TheSandboxHasItsOwnDevAndProc) {
  EXPECT_TRUE(Ask(Act::kWrite, "/dev/null").verdict.allowed);
  EXPECT_TRUE(Ask(Act::kWrite, "/dev/shm/x").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kRead, "/dev/sda").verdict.allowed);
  EXPECT_TRUE(Ask(Act::kRead, "/proc/self/status").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kWrite, "/proc/sys/kernel/core_pattern").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kRead, "/proc/kallsyms").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kWrite, "/sys/x").verdict.allowed);
}

TEST_F(ExplainTest, WithoutAPrivateTempNothingIsWrittenThere) {
  policy_.fs.temp = TempMode::kNone;
  EXPECT_FALSE(Ask(Act::kWrite, "/tmp/x").verdict.allowed);
}

TEST_F(ExplainTest, WithAReadListTheWayToItIsListable) {
  policy_.fs.read = {Rule("/usr", 3)};
  EXPECT_TRUE(Ask(Act::kRead, "/home").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kRead, "/etc").verdict.allowed);
  EXPECT_FALSE(Ask(Act::kRead, "/home/me/secret").verdict.allowed);
}

}  // namespace
}  // namespace cordon::plan
