#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/fake_paths.h"
#include "plan/plan.h"

namespace cordon::plan {
namespace {

Plan MakeExample() {
  host::FakePaths paths;
  paths.Directory("/tmp").Directory("/var/tmp").File("/home/me/.ssh/id");
  paths.Directory("/w/.git/hooks").File("/w/.git/config");
  Policy policy;
  policy.fs.read = {{.path = "/", .origin = {"policy.toml", 3}}};
  policy.fs.write = {{.path = "/w", .origin = {"policy.toml", 4}}};
  policy.fs.deny_read = {{.path = "/home/me/.ssh", .origin = {"policy.toml", 5}}};
  policy.fs.deny_new = {{.path = "/w/**/.env*", .glob = true, .origin = {"policy.toml", 6}}};
  policy.fs.temp = TempMode::kPrivate;
  policy.env.pass = {{"API_TOKEN", {"policy.toml", 8}}};
  policy.env.set = {{"CI", "true"}};
  policy.limits.wall_ms = 60'000;
  policy.limits.memory = 2ull << 30;
  host::Facts facts{.landlock_abi = 7, .uid = 1000, .gid = 1000, .home = "/home/me"};
  Result<Plan> plan = MakePlan({.policy = policy,
                                .facts = facts,
                                .probe = paths,
                                .command = {{"make", "test"}, "/w"},
                                .workspace = "/w",
                                .environment = {{"API_TOKEN", "hunter2"},
                                                {"HOME", "/home/me"},
                                                {"LD_PRELOAD", "/evil.so"},
                                                {"PATH", "/usr/bin"}}});
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

constexpr char kText[] = R"(  command    make test
  directory  /w
  workspace  /w
  user       uid 1000, gid 1000, no capabilities
  backend    namespaces
  network    none
  terminal   none
  nesting    no
  git        protect
  landlock   ABI 7

files
  /               host     read-only   fs.read policy.toml:3
  /tmp            private  read-write  fs.temp
  /w              host     read-write  fs.write policy.toml:4
  /var/tmp        private  read-write  fs.temp
  /w/.git         host     read-write  kept in its place
  /home/me/.ssh   masked   none        fs.deny_read policy.toml:5
  /w/.git/config  host     read-only   floor built in
  /w/.git/hooks   host     read-only   floor built in
  /dev            private  minimal
  /proc           private  read-only
  /sys            private  read-only

names that may not come into being
  /w                    floor built in             .gitconfig .bashrc .bash_profile .bash_login .bash_logout and N more
  /w/**/.env*           fs.deny_new policy.toml:6
  /w/.claude/settings*  floor built in

environment
  passed   API_TOKEN HOME PATH
  set      CI=true
  set      CORDON_SANDBOX=1
  set      PWD=/w
  set      TMPDIR=/tmp
  dropped  LD_PRELOAD

limits
  wall           1m
  memory         2GiB
  private files  256MiB

enforcement
)";

TEST(Describe, IsThisTextForThisPlan) {
  Plan plan = MakeExample();
  std::string text = Describe(plan);
  // The pattern has a line of its own, and five names are spelt out.
  std::string expected = kText;
  expected.replace(expected.find("N more"), 1, std::to_string(plan.fs.names.size() - 7));
  EXPECT_EQ(text.substr(0, expected.size()), expected);
  EXPECT_NE(text.find("\n  fs.read           full     mount namespace, landlock\n"),
            std::string::npos);
}

TEST(Describe, NeverHasTheValueOfAPassedVariable) {
  Plan plan = MakeExample();
  ASSERT_NE(std::ranges::find(plan.environment, "API_TOKEN=hunter2"), plan.environment.end());
  EXPECT_EQ(Describe(plan).find("hunter2"), std::string::npos);
  EXPECT_EQ(ToJson(plan).find("hunter2"), std::string::npos);
}

TEST(Describe, FoldsTheCachesIntoOneLine) {
  Plan plan;
  plan.environment = {"CARGO_HOME=/c/cargo", "XDG_CACHE_HOME=/c"};
  plan.chosen_environment = {"CARGO_HOME", "XDG_CACHE_HOME"};
  EXPECT_NE(Describe(plan).find("\n  caches  CARGO_HOME XDG_CACHE_HOME: below /c\n"),
            std::string::npos);
}

TEST(Describe, ShowsNoControlCharacters) {
  Plan plan;
  plan.command.argv = {"a\x1b[31m"};
  EXPECT_NE(Describe(plan).find("a\\x1b[31m"), std::string::npos);
}

TEST(ToJson, HasEveryRegionAndName) {
  Plan plan = MakeExample();
  auto json = nlohmann::json::parse(ToJson(plan));
  EXPECT_EQ(json["regions"].size(), plan.fs.regions.size());
  EXPECT_EQ(json["protected_names"].size(), plan.fs.names.size());
  EXPECT_EQ(json["environment"]["set"]["CI"], "true");
  EXPECT_EQ(json["environment"]["passed"], nlohmann::json({"API_TOKEN", "HOME", "PATH"}));
  EXPECT_EQ(json["limits"], (nlohmann::json{{"wall_ms", 60000}, {"memory", 2ull << 30}}));
  EXPECT_EQ(json["enforcement"]["fs.read"]["level"], "full");
}

TEST(ToJson, BytesThatAreNotUtf8AreShown) {
  Plan plan;
  plan.command.argv = {"a\xff"};
  EXPECT_EQ(nlohmann::json::parse(ToJson(plan))["command"][0], "a\\xff");
}

}  // namespace
}  // namespace cordon::plan
