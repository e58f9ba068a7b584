#include "plan/landlock_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "host/fake_paths.h"
#include "plan/rules.h"

namespace cordon::plan {
namespace {

using testing::Contains;
using testing::Not;

class LandlockPlanTest : public testing::Test {
 protected:
  LandlockPlanTest() {
    for (const char* path : {"/usr/bin", "/tmp", "/var/tmp", "/var/lib", "/proc", "/sys", "/dev",
                             "/own/tmp", "/own/shm", "/w/src"}) {
      paths_.Directory(path);
    }
    paths_.File("/home/me/.ssh/id", "key").File("/home/me/.ssh2/x");
    paths_.File("/home/me/run", "#!", 0755).File("/home/me/note").Link("/bin", "/usr/bin");
    policy_.fs.read = {{.path = "/"}};
    policy_.fs.write = {{.path = "/w"}};
    policy_.fs.temp = TempMode::kPrivate;
  }
  Result<Plan> Make() {
    return MakePlan({.policy = policy_,
                     .facts = facts_,
                     .probe = paths_,
                     .command = {{"true"}, "/w"},
                     .workspace = "/w",
                     .backend = host::Backend::kLandlock,
                     .private_directory = "/own"});
  }
  std::vector<std::string> Programs() {
    std::vector<std::string> paths;
    Result<Plan> plan = Make();
    EXPECT_TRUE(plan);
    for (const Program& program : plan->programs) paths.push_back(program.path);
    return paths;
  }
  Reason Refusal() {
    Result<Plan> plan = Make();
    return plan ? Reason::kInternal : plan.error().reason;
  }

  host::FakePaths paths_;
  Policy policy_;
  host::Facts facts_{.landlock_abi = 7, .uid = 1000, .gid = 1000, .home = "/home/me"};
};

TEST_F(LandlockPlanTest, AReadableTreeWithoutDenialsIsExecutedFromAsAWhole) {
  policy_.fs.read = {{.path = "/usr"}};
  EXPECT_THAT(Programs(), testing::UnorderedElementsAre("/usr", "/w", "/own/tmp", "/own/shm"));
}

TEST_F(LandlockPlanTest, BesideADeniedPathItsSiblingsAreGranted) {
  policy_.fs.deny_read = {{.path = "/home/me/.ssh"}};
  std::vector<std::string> programs = Programs();
  for (const char* path : {"/usr", "/var/lib", "/home/me/.ssh2", "/home/me/run", "/w"}) {
    EXPECT_THAT(programs, Contains(path));
  }
  // What holds it, what is no program, links, and what is not the command's at all.
  for (const char* path : {"/", "/home", "/home/me", "/home/me/.ssh", "/home/me/note", "/bin",
                           "/tmp", "/var", "/var/tmp", "/proc", "/sys", "/dev"}) {
    EXPECT_THAT(programs, Not(Contains(path)));
  }
}

TEST_F(LandlockPlanTest, AWritableTreeIsGrantedWhole) {
  paths_.File("/w/.env");
  policy_.fs.deny_read = {{.path = "/w/.env"}};
  EXPECT_THAT(Programs(), Contains("/w"));
}

TEST_F(LandlockPlanTest, TheRunsOwnDirectoryStandsForTmp) {
  Result<Plan> plan = Make();
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->environment, Contains("TMPDIR=/own/tmp"));
  EXPECT_EQ(RegionOf(plan->fs.regions, "/tmp/x")->source, RegionSource::kMask);
  EXPECT_EQ(RegionOf(plan->fs.regions, "/own/tmp/x")->rights, Rights::kReadWrite);
  EXPECT_FALSE(Decide(plan->fs, Access::kRead, "/tmp/x").allowed);
  EXPECT_TRUE(Decide(plan->fs, Access::kRead, "/usr/x").allowed);
  policy_.fs.temp = TempMode::kNone;
  plan = Make();
  ASSERT_TRUE(plan);
  EXPECT_EQ(RegionOf(plan->fs.regions, "/own/tmp/x")->path, "/");
}

TEST_F(LandlockPlanTest, RecordsWhatIsPartial) {
  Result<Plan> plan = Make();
  ASSERT_TRUE(plan);
  auto level = [&](std::string_view feature) {
    return std::ranges::find(plan->enforcement, feature, &Enforcement::feature)->level;
  };
  EXPECT_EQ(level("fs.read"), Level::kPartial);
  EXPECT_EQ(level("pid"), Level::kPartial);
  for (const char* feature : {"fs.write", "fs.floor", "net", "unix", "ipc", "seccomp", "env"}) {
    EXPECT_EQ(level(feature), Level::kFull) << feature;
  }
}

TEST_F(LandlockPlanTest, WhatIsRequiredInFullIsRefusedWhereItIsPartial) {
  policy_.require = {{.text = "fs.write"}, {.text = "net"}};
  EXPECT_TRUE(Make());
  policy_.require = {{.text = "pid"}};
  EXPECT_EQ(Refusal(), Reason::kRequirementUnmet);
  policy_.on_unavailable = OnUnavailable::kWarn;
  EXPECT_EQ(Refusal(), Reason::kRequirementUnmet);
}

TEST_F(LandlockPlanTest, RefusesWhatNeedsNamespaces) {
  policy_.exec.nesting = true;
  EXPECT_EQ(Refusal(), Reason::kUnsupported);
  policy_.exec.nesting = false;
  facts_.landlock_abi = 0;
  policy_.on_unavailable = OnUnavailable::kWarn;
  EXPECT_EQ(Refusal(), Reason::kRequirementUnmet);
}

}  // namespace
}  // namespace cordon::plan
