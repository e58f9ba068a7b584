#include "plan/fs_plan.h"

#include <gmock/gmock.h>

#include "host/fake_paths.h"
#include "plan/regions.h"
#include "plan/rules.h"

namespace cordon::plan {
namespace {

using testing::ElementsAre;

class FsPlanTest : public testing::Test {
 protected:
  FsPlanTest() {
    paths_.Directory("/tmp")
        .Directory("/var/tmp")
        .Directory("/home/me")
        .File("/w/a")
        .File("/w/s/secret")
        .File("/w/s/open")
        .File("/w/.git/config")
        .Directory("/w/.git/hooks")
        .File("/o/x");
    policy_.read = {Rule("/")};
    policy_.write = {Rule("/w")};
  }

  static PathRule Rule(std::string path) {
    PathRule rule{.path = std::move(path), .origin = {"p", 1}};
    rule.glob = rule.path.find('*') != std::string::npos;
    return rule;
  }

  FsPlan Plan() {
    Result<FsPlan> plan = Try();
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? std::move(*plan) : FsPlan{};
  }
  Result<FsPlan> Try() {
    return PlanFs({.policy = policy_,
                   .probe = paths_,
                   .workspace = "/w",
                   .home = "/home/me",
                   .floor = floor_});
  }
  bool May(Access access, std::string_view path) { return Decide(Plan(), access, path).allowed; }
  const Region At(std::string_view path) {
    plan_ = Plan();
    return *RegionOf(plan_.regions, path);
  }

  host::FakePaths paths_;
  FsPolicy policy_;
  FsPlan plan_;
  FsInputs::Floor floor_ = FsInputs::Floor::kOn;
};

TEST_F(FsPlanTest, WhatMayNotBeReadIsWatchedForWhereItIsNotThere) {
  policy_.data_dir = Rule("/home/me/.agent");
  EXPECT_THAT(Plan().absent,
              testing::IsSupersetOf({"/home/me/.agent/data", "/home/me/.agent/config.toml"}));
  paths_.File("/home/me/.agent/data/db");
  FsPlan plan = Plan();
  EXPECT_THAT(plan.absent, testing::Not(testing::Contains("/home/me/.agent/data")));
  EXPECT_EQ(RegionOf(plan.regions, "/home/me/.agent/data/db")->source, RegionSource::kMask);
}

TEST_F(FsPlanTest, TheZeroPolicyAllowsNothing) {
  policy_ = {};
  FsPlan plan = Plan();
  for (const char* path : {"/", "/w/a", "/home/me", "/etc"}) {
    EXPECT_FALSE(Decide(plan, Access::kRead, path).allowed) << path;
    EXPECT_FALSE(Decide(plan, Access::kWrite, path).allowed) << path;
  }
  EXPECT_EQ(plan.regions.front().source, RegionSource::kPrivate);
}

TEST_F(FsPlanTest, AMissingPathIsAnErrorUnlessOptional) {
  policy_.read.push_back(Rule("/nowhere"));
  EXPECT_EQ(Try().error().reason, Reason::kPolicyPathMissing);
  policy_.read.back().optional = true;
  EXPECT_TRUE(Try());
  policy_.deny_read = {Rule("/typo")};
  EXPECT_EQ(Try().error().reason, Reason::kPolicyPathMissing);
}

TEST_F(FsPlanTest, DenyBeatsAllowInEveryOrder) {
  policy_.read.push_back(Rule("/w/s/secret"));
  policy_.write.push_back(Rule("/w/s/secret"));
  policy_.deny_read = {Rule("/w/s/secret")};
  EXPECT_FALSE(May(Access::kRead, "/w/s/secret"));
  EXPECT_FALSE(May(Access::kWrite, "/w/s/secret"));
  EXPECT_TRUE(May(Access::kWrite, "/w/s/open"));
  EXPECT_EQ(At("/w/s/secret").source, RegionSource::kMask);
}

TEST_F(FsPlanTest, AllowWithinDenyIsForReadingAndNarrower) {
  policy_.deny_read = {Rule("/w/s")};
  policy_.allow_read_within_deny = {Rule("/w/s/open")};
  EXPECT_TRUE(May(Access::kRead, "/w/s/open"));
  EXPECT_FALSE(May(Access::kWrite, "/w/s/open"));
  EXPECT_FALSE(May(Access::kRead, "/w/s/secret"));
  policy_.deny_read.push_back(Rule("/w/s/open"));
  EXPECT_FALSE(May(Access::kRead, "/w/s/open"));
}

TEST_F(FsPlanTest, DenyWriteLeavesReading) {
  policy_.deny_write = {Rule("/w/s")};
  EXPECT_TRUE(May(Access::kRead, "/w/s/open"));
  EXPECT_FALSE(May(Access::kWrite, "/w/s/open"));
  EXPECT_EQ(At("/w/s/open").rights, Rights::kReadOnly);
}

TEST_F(FsPlanTest, GlobsAreWhatExistsAtTheStart) {
  policy_.deny_read = {Rule("/w/**/secret")};
  EXPECT_FALSE(May(Access::kRead, "/w/s/secret"));
  EXPECT_TRUE(May(Access::kRead, "/w/secret"));
  policy_.deny_new = {Rule("/w/**/secret")};
  EXPECT_FALSE(May(Access::kWrite, "/w/secret"));
  EXPECT_TRUE(May(Access::kChange, "/w/s/open"));
}

TEST_F(FsPlanTest, TheFloorCannotBeGrantedAway) {
  for (const char* path : {"/w/.git/hooks", "/w/.git/config", "/w/.git"}) {
    policy_.write.push_back(Rule(path));
  }
  EXPECT_FALSE(May(Access::kWrite, "/w/.git/hooks/pre-commit"));
  EXPECT_FALSE(May(Access::kWrite, "/w/.git/config"));
  EXPECT_FALSE(May(Access::kWrite, "/w/.mcp.json"));
  EXPECT_FALSE(May(Access::kWrite, "/w/.MCP.json"));
  EXPECT_TRUE(May(Access::kWrite, "/w/.git/index"));
  EXPECT_TRUE(May(Access::kRead, "/w/.git/config"));
  floor_ = FsInputs::Floor::kOff;
  EXPECT_TRUE(May(Access::kWrite, "/w/.git/config"));
}

TEST_F(FsPlanTest, EveryDirectoryAboveAProtectedPathIsAMountPoint) {
  policy_.deny_read = {Rule("/w/s/secret")};
  FsPlan plan = Plan();
  for (const char* path : {"/w", "/w/s", "/w/.git"}) {
    EXPECT_THAT(plan.regions, testing::Contains(testing::Field(&Region::path, path)));
  }
}

TEST_F(FsPlanTest, RegionsAreSortedByDepth) {
  policy_.deny_read = {Rule("/w/s/secret")};
  policy_.temp = TempMode::kPrivate;
  size_t before = 0;
  for (const Region& region : Plan().regions) {
    size_t depth =
        region.path == "/" ? 0 : static_cast<size_t>(std::ranges::count(region.path, '/'));
    EXPECT_LE(before, depth) << region.path;
    before = depth;
  }
}

TEST_F(FsPlanTest, AWritableRegionOverTheFloorIsRefused) {
  FsPlan plan = Plan();
  EXPECT_TRUE(CheckFloorUncovered(plan));
  plan.regions.push_back({"/w/.git/hooks", RegionSource::kHost, Rights::kReadWrite, true, 0, 0});
  EXPECT_EQ(CheckFloorUncovered(plan).error().reason, Reason::kFloorCovered);
}

TEST_F(FsPlanTest, ALinkedRootIsTakenForWhatItLeadsTo) {
  paths_.Link("/alias", "/o");
  policy_.write = {Rule("/w"), Rule("/alias")};
  EXPECT_TRUE(May(Access::kWrite, "/o/x"));
  policy_.deny_read = {Rule("/alias/x")};
  EXPECT_FALSE(May(Access::kRead, "/o/x"));
}

TEST_F(FsPlanTest, AWorkspaceThatMayNotBeReadIsRefused) {
  policy_.deny_read = {Rule("/w")};
  EXPECT_EQ(Try().error().reason, Reason::kWorkspaceInvalid);
}

TEST_F(FsPlanTest, PrivateTemp) {
  policy_.temp = TempMode::kPrivate;
  EXPECT_TRUE(May(Access::kWrite, "/tmp/x"));
  EXPECT_EQ(At("/tmp/x").source, RegionSource::kPrivate);
  policy_.temp = TempMode::kShared;
  EXPECT_EQ(At("/tmp/x").source, RegionSource::kHost);
  EXPECT_FALSE(May(Access::kWrite, "/tmp/x"));
  policy_.temp = TempMode::kNone;
  EXPECT_EQ(At("/tmp/x").rights, Rights::kReadOnly);
}

TEST_F(FsPlanTest, CordonsOwnStateIsOutOfReach) {
  paths_.File("/home/me/.local/state/cordon/trust").File("/home/me/.config/cordon/policy.toml");
  policy_.write.push_back(Rule("/home/me"));
  EXPECT_FALSE(May(Access::kRead, "/home/me/.local/state/cordon/trust"));
  EXPECT_FALSE(May(Access::kWrite, "/home/me/.config/cordon/policy.toml"));
}

TEST(ViolatedName, TheNameWhatIsBelowAndWhatBringsIt) {
  std::vector<ProtectedName> names = {{.path = "/w/.claude/settings.json"},
                                      {.path = "/w/**/*.key", .glob = true}};
  auto hit = [&](const char* path, Creation creation) {
    return ViolatedName(names, path, creation) != nullptr;
  };
  EXPECT_TRUE(hit("/w/.claude/settings.json", Creation::kEmpty));
  EXPECT_TRUE(hit("/w/.Claude/Settings.JSON", Creation::kEmpty));
  EXPECT_TRUE(hit("/w/.claude/settings.json/below", Creation::kEmpty));
  EXPECT_FALSE(hit("/w/.claude", Creation::kEmpty));
  EXPECT_TRUE(hit("/w/.claude", Creation::kWithContent));
  EXPECT_FALSE(hit("/w/.claude/settings.jsonx", Creation::kWithContent));
  EXPECT_TRUE(hit("/w/a/b.key", Creation::kEmpty));
  EXPECT_FALSE(hit("/o/b.key", Creation::kEmpty));
}

}  // namespace
}  // namespace cordon::plan
