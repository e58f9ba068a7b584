#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "host/fake_paths.h"
#include "plan/plan.h"

namespace cordon::plan {
namespace {

class MakePlanTest : public testing::Test {
 protected:
  MakePlanTest() {
    paths_.Directory("/w").Directory("/tmp").Directory("/var/tmp");
    policy_.fs.read = {{.path = "/"}};
    policy_.fs.write = {{.path = "/w"}};
  }
  Result<Plan> Make() {
    return MakePlan({.policy = policy_,
                     .facts = facts_,
                     .probe = paths_,
                     .command = {argv_, directory_},
                     .workspace = "/w",
                     .cache_directory = cache_});
  }
  Reason Refusal() {
    Result<Plan> plan = Make();
    return plan ? Reason::kInternal : plan.error().reason;
  }

  host::FakePaths paths_;
  Policy policy_;
  host::Facts facts_{.landlock_abi = 7, .uid = 1000, .gid = 1000, .home = "/home/me"};
  std::vector<std::string> argv_ = {"true"};
  std::string directory_ = "/w";
  std::string cache_;
};

TEST_F(MakePlanTest, SaysWhatIsEnforced) {
  Result<Plan> plan = Make();
  ASSERT_TRUE(plan);
  for (const Enforcement& item : plan->enforcement) {
    if (item.feature.starts_with("limits.")) continue;
    EXPECT_EQ(item.level, Level::kFull) << item.feature;
  }
}

TEST_F(MakePlanTest, WhatIsNotBuiltYetIsRefusedByName) {
  const std::map<std::string, std::function<void(Policy&)>> keys = {
      {"exec.excluded", [](Policy& p) { p.exec.excluded = {{"docker", {}}}; }},
      {"exec.deny", [](Policy& p) { p.exec.deny = {{.path = "/x"}}; }},
      {"workspace.provider", [](Policy& p) { p.workspace_provider = WorkspaceProvider::kOverlay; }},
      {"leaks.scan", [](Policy& p) { p.leaks.scan = true; }},
      {"audit.denials", [](Policy& p) { p.audit.denials = DenialDetail::kExact; }},
  };
  for (const auto& [key, set] : keys) {
    Policy before = policy_;
    set(policy_);
    Result<Plan> plan = Make();
    ASSERT_FALSE(plan) << key;
    EXPECT_EQ(plan.error().reason, Reason::kUnsupported) << key;
    EXPECT_THAT(plan.error().message, testing::HasSubstr(key));
    policy_ = before;
  }
}

TEST_F(MakePlanTest, TheAuditLogIsOutOfReach) {
  paths_.File("/home/me/log/audit.jsonl");
  policy_.audit.log = "/home/me/log/audit.jsonl";
  Result<Plan> plan = Make();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(Decide(plan->fs, Access::kRead, policy_.audit.log).allowed);
  EXPECT_FALSE(Decide(plan->fs, Access::kChange, policy_.audit.log).allowed);
  EXPECT_TRUE(Decide(plan->fs, Access::kRead, "/home/me/log/other").allowed);
  // Also where an exception names it.
  policy_.fs.allow_read_within_deny = {{.path = policy_.audit.log}};
  plan = Make();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(Decide(plan->fs, Access::kRead, policy_.audit.log).allowed);
}

TEST_F(MakePlanTest, TheAuditLogIsInNoWritableRoot) {
  paths_.Directory("/outside").Link("/outside/in", "/w").Directory("/home/me/.cache/cordon/w");
  policy_.origins["audit.log"] = {"p.toml", 7};
  for (const char* path : {"/w/audit.jsonl", "/w/new/audit.jsonl", "/outside/in/audit.jsonl"}) {
    policy_.audit.log = path;
    Result<Plan> plan = Make();
    ASSERT_FALSE(plan) << path;
    EXPECT_EQ(plan.error().reason, Reason::kPolicyBadValue);
    EXPECT_THAT(plan.error().message, testing::HasSubstr("p.toml:7: audit.log: /w/"));
  }
  policy_.audit.log = "/outside/audit.jsonl";
  EXPECT_TRUE(Make());
  // A root that the policy does not name: where caches are kept.
  policy_.fs.caches = CacheMode::kPrivate;
  cache_ = "/home/me/.cache/cordon/w";
  EXPECT_TRUE(Make());
  policy_.audit.log = cache_ + "/audit.jsonl";
  EXPECT_EQ(Refusal(), Reason::kPolicyBadValue);
}

TEST_F(MakePlanTest, CordonsOwnStateHoldsAnAuditLogWhateverIsWritable) {
  policy_.fs.write = {{.path = "/"}};
  policy_.audit.log = "/home/me/audit.jsonl";
  EXPECT_EQ(Refusal(), Reason::kPolicyBadValue);
  policy_.audit.log = "/home/me/.local/state/cordon/audit.jsonl";
  paths_.File(policy_.audit.log);
  Result<Plan> plan = Make();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(Decide(plan->fs, Access::kRead, policy_.audit.log).allowed);
}

TEST_F(MakePlanTest, InterceptionNeedsABundleThatIsSeenInside) {
  constexpr char kBundle[] = "/etc/ssl/certs/ca-certificates.crt";
  policy_.net.mode = NetMode::kProxy;
  policy_.net.credentials = {{"x.example", "X-Key", "{}", "env:K"}};
  EXPECT_EQ(Refusal(), Reason::kUnsupported);
  paths_.File(kBundle);
  Result<Plan> plan = Make();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->net.trust_bundle, kBundle);
  ASSERT_EQ(plan->net.rules.intercept.size(), 1u);
  EXPECT_THAT(plan->environment, testing::Contains(std::string("CURL_CA_BUNDLE=") + kBundle));
  policy_.fs.read = {{.path = "/w"}};
  EXPECT_EQ(Refusal(), Reason::kUnsupported);
  policy_.net.mode = NetMode::kNone;
  EXPECT_EQ(Refusal(), Reason::kPolicyBadValue);
}

TEST_F(MakePlanTest, FilesOfSecretsAreRegionsThatCannotBeMovedAway) {
  paths_.File("/etc/ssl/certs/ca-certificates.crt").File("/w/k/token").File("/w/k/ca.key");
  paths_.File("/w/k/open");
  policy_.net.mode = NetMode::kProxy;
  policy_.net.credentials = {{"x.example", "X-Key", "{}", "file:/w/k/token"},
                             {"x.example", "X-Other", "{}", "env:K"}};
  policy_.net.tls_ca = {"/w/k/ca.pem", "/w/k/ca.key"};
  // What the policy allows within a pattern is not what it keeps as a secret.
  policy_.fs.deny_read = {{.path = "/w/**/token", .glob = true}};
  policy_.fs.allow_read_within_deny = {{.path = "/w/k/token"}};
  Result<Plan> plan = Make();
  ASSERT_TRUE(plan) << plan.error().message;
  for (const char* path : {"/w/k/token", "/w/k/ca.key"}) {
    EXPECT_FALSE(Decide(plan->fs, Access::kRead, path).allowed) << path;
    EXPECT_NE(ViolatedName(plan->fs.names, path, Creation::kEmpty), nullptr) << path;
    auto region = std::ranges::find(plan->fs.regions, path, &Region::path);
    ASSERT_NE(region, plan->fs.regions.end()) << path;
    EXPECT_EQ(region->source, RegionSource::kMask) << path;
  }
  EXPECT_NE(std::ranges::find(plan->fs.regions, "/w/k", &Region::path), plan->fs.regions.end());
  EXPECT_TRUE(Decide(plan->fs, Access::kWrite, "/w/k/open").allowed);
}

TEST_F(MakePlanTest, RequirementsAreMetInFullOrRefused) {
  policy_.require = {{"net", {}}, {"fs", {}}};
  EXPECT_TRUE(Make());
  policy_.net.mode = NetMode::kOpen;
  EXPECT_EQ(Refusal(), Reason::kRequirementUnmet);
  policy_.net.mode = NetMode::kNone;
  policy_.limits.memory = 1 << 30;
  policy_.require = {{"limits.memory", {}}};
  EXPECT_EQ(Refusal(), Reason::kRequirementUnmet);
  policy_.require = {{"nonsense", {}}};
  EXPECT_EQ(Refusal(), Reason::kPolicyBadValue);
}

TEST_F(MakePlanTest, TrustForbidsOrRequires) {
  policy_.trust = Trust::kForbid;
  EXPECT_EQ(Refusal(), Reason::kPolicyTrustForbid);
  policy_.trust = Trust::kRequire;
  policy_.exec.nesting = true;
  EXPECT_EQ(Refusal(), Reason::kRequirementUnmet);
}

TEST_F(MakePlanTest, NoLandlockIsRefusedUnlessThePolicySaysSo) {
  facts_.landlock_abi = 0;
  EXPECT_EQ(Refusal(), Reason::kRequirementUnmet);
  policy_.on_unavailable = OnUnavailable::kWarn;
  EXPECT_TRUE(Make());
}

TEST_F(MakePlanTest, CommandsThatCannotBe) {
  argv_ = {};
  EXPECT_EQ(Refusal(), Reason::kCommandInvalid);
  argv_ = {""};
  EXPECT_EQ(Refusal(), Reason::kCommandInvalid);
  argv_ = {"a", std::string("b\0c", 3)};
  EXPECT_EQ(Refusal(), Reason::kCommandInvalid);
  argv_ = {"true"};
  policy_.fs.read = {{.path = "/w"}};
  directory_ = "/elsewhere";
  EXPECT_EQ(Refusal(), Reason::kCommandInvalid);
}

}  // namespace
}  // namespace cordon::plan
