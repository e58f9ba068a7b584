#include "backend/linux/namespaces.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "backend/linux/mount_ops.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;

plan::Plan SomePlan() {
  plan::Plan plan;
  plan.command = {{"make", "test"}, "/w"};
  plan.landlock_abi = 7;
  plan.uid = 1000;
  plan.gid = 100;
  plan.fs.temp_size = 1 << 20;
  plan.fs.regions = {{"/", RegionSource::kHost, Rights::kReadOnly, true, 1, 2},
                     {"/w", RegionSource::kHost, Rights::kReadWrite, true, 1, 3},
                     {"/tmp", RegionSource::kPrivate, Rights::kReadWrite, true, 0, 0},
                     {"/w/.git", RegionSource::kHost, Rights::kReadWrite, true, 1, 4},
                     {"/w/.env", RegionSource::kMask, Rights::kReadOnly, false, 1, 5},
                     {"/w/.git/hooks", RegionSource::kHost, Rights::kReadOnly, true, 1, 6}};
  return plan;
}

size_t IndexOf(const std::vector<Step>& steps, Op op, std::string_view path = {}) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].op == op && (path.empty() || steps[i].path == path)) return i;
  }
  ADD_FAILURE() << "no step " << Describe({.op = op}) << " " << path;
  return steps.size();
}

bool Has(const std::vector<Step>& steps, Op op) {
  return std::ranges::any_of(steps, [&](const Step& step) { return step.op == op; });
}

TEST(CompileNamespaces, TheOrderOfTheSteps) {
  Result<ChildSpec> spec = CompileNamespaces(SomePlan());
  ASSERT_TRUE(spec);
  const Op order[] = {Op::kWriteFile, Op::kJoinSession,      Op::kOpenTree,
                      Op::kSealRoot,  Op::kAttach,           Op::kForbidUserNamespaces,
                      Op::kChdir,     Op::kDropCapabilities, Op::kLandlock,
                      Op::kSeccomp,   Op::kExecInit};
  size_t before = 0;
  for (Op op : order) {
    size_t at = IndexOf(spec->steps, op);
    EXPECT_LE(before, at) << Describe({.op = op});
    before = at;
  }
  EXPECT_EQ(IndexOf(spec->steps, Op::kExecInit), spec->steps.size() - 1);
}

TEST(CompileNamespaces, AllNamespacesButTheNetworkWhenOpen) {
  plan::Plan plan = SomePlan();
  uint64_t all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                 CLONE_NEWCGROUP | CLONE_NEWNET;
  EXPECT_EQ(CompileNamespaces(plan)->namespaces, all);
  plan.net.mode = NetMode::kOpen;
  EXPECT_EQ(CompileNamespaces(plan)->namespaces, all & ~uint64_t{CLONE_NEWNET});
  EXPECT_FALSE(Has(CompileNamespaces(plan)->steps, Op::kLoopback));
}

TEST(CompileNamespaces, NestingLiftsTheLimitAndChangesTheFilter) {
  plan::Plan plan = SomePlan();
  SeccompProgram strict = CompileNamespaces(plan)->seccomp;
  plan.nesting = true;
  EXPECT_FALSE(Has(CompileNamespaces(plan)->steps, Op::kForbidUserNamespaces));
  EXPECT_NE(CompileNamespaces(plan)->seccomp, strict);
  EXPECT_TRUE(Has(CompileNamespaces(plan)->steps, Op::kSeccomp));
}

TEST(CompileNamespaces, OneIdEachMappedToItself) {
  std::vector<Step> steps = CompileNamespaces(SomePlan())->steps;
  EXPECT_EQ(steps[IndexOf(steps, Op::kWriteFile, "/proc/self/setgroups")].data, "deny");
  EXPECT_EQ(steps[IndexOf(steps, Op::kWriteFile, "/proc/self/uid_map")].data, "1000 1000 1");
  EXPECT_EQ(steps[IndexOf(steps, Op::kWriteFile, "/proc/self/gid_map")].data, "100 100 1");
}

TEST(CompileNamespaces, Limits) {
  plan::Plan plan = SomePlan();
  plan.limits = {.cpu_ms = 1500, .memory = 100, .processes = 5, .open_files = 64, .file_size = 9};
  std::map<uint64_t, uint64_t> limits;
  auto spec = CompileNamespaces(plan);
  for (const Step& step : spec->steps) {
    if (step.op == Op::kLimit) limits[step.value] = step.value2;
  }
  // Reserved memory is no use of it: the limit of one process is wider.
  EXPECT_GE(limits[RLIMIT_DATA], *plan.limits.memory);
  limits.erase(RLIMIT_DATA);
  std::map<uint64_t, uint64_t> expected = {
      {RLIMIT_CORE, 0}, {RLIMIT_CPU, 3}, {RLIMIT_NPROC, 6}, {RLIMIT_NOFILE, 64}, {RLIMIT_FSIZE, 9}};
  EXPECT_EQ(limits, expected);
}

TEST(MountOps, HostTreesAreOpenedBeforeTheRootIsSealed) {
  std::vector<Step> steps = *MountOps(SomePlan());
  size_t sealed = IndexOf(steps, Op::kSealRoot);
  for (const char* path : {"/w", "/w/.git", "/w/.git/hooks"}) {
    EXPECT_LT(IndexOf(steps, Op::kOpenTree, path), sealed) << path;
    EXPECT_GT(IndexOf(steps, Op::kAttach, path), sealed) << path;
  }
}

TEST(MountOps, OutermostFirstAndTheFloorLast) {
  std::vector<Step> steps = *MountOps(SomePlan());
  EXPECT_LT(IndexOf(steps, Op::kAttach, "/w"), IndexOf(steps, Op::kAttach, "/w/.git"));
  EXPECT_LT(IndexOf(steps, Op::kAttach, "/w/.git"), IndexOf(steps, Op::kAttach, "/w/.git/hooks"));
  EXPECT_EQ(IndexOf(steps, Op::kAttach, "/w/.git/hooks"), steps.size() - 1);
}

TEST(MountOps, AttributesFollowTheRights) {
  std::vector<Step> steps = *MountOps(SomePlan());
  auto attributes = [&](const char* path) {
    int slot = steps[IndexOf(steps, Op::kOpenTree, path)].slot;
    for (const Step& step : steps) {
      if (step.op == Op::kAttributes && step.slot == slot) return step.value;
    }
    return uint64_t{0};
  };
  constexpr uint64_t kSafe = uapi::kMountAttrNosuid | uapi::kMountAttrNodev;
  EXPECT_EQ(attributes("/w"), kSafe);
  EXPECT_EQ(attributes("/w/.git/hooks"), kSafe | uapi::kMountAttrRdonly);
  EXPECT_NE(steps[IndexOf(steps, Op::kSealRoot)].value & uapi::kMountAttrRdonly, 0u);
}

TEST(MountOps, WhatThePlanSawIsWhatIsMounted) {
  std::vector<Step> steps = *MountOps(SomePlan());
  EXPECT_EQ(steps[IndexOf(steps, Op::kOpenTree, "/w")].identity, (Identity{1, 3}));
  EXPECT_EQ(steps[IndexOf(steps, Op::kAttach, "/w/.env")].identity, (Identity{1, 5}));
}

TEST(MountOps, AnOwnRootTakesTheOldOnesPlace) {
  plan::Plan plan = SomePlan();
  plan.fs.regions[0].source = RegionSource::kPrivate;
  std::vector<Step> steps = *MountOps(plan);
  EXPECT_TRUE(Has(steps, Op::kEnterRoot));
  EXPECT_LT(IndexOf(steps, Op::kEnterRoot), IndexOf(steps, Op::kAttach, "/w"));
  EXPECT_FALSE(Has(*MountOps(SomePlan()), Op::kEnterRoot));
}

TEST(MountOps, NothingIsMadeOnTheHost) {
  for (RegionSource root : {RegionSource::kHost, RegionSource::kPrivate}) {
    plan::Plan plan = SomePlan();
    plan.fs.regions[0].source = root;
    auto steps = MountOps(plan);
    for (const Step& step : *steps) {
      bool makes = step.op == Op::kMakeDir || step.op == Op::kMakeFile || step.op == Op::kMakeLink;
      if (!makes) continue;
      EXPECT_EQ(step.slot, 0) << Describe(step);
      EXPECT_FALSE(step.path.starts_with('/')) << Describe(step);
    }
  }
}

TEST(MountOps, TooManyMountsAreRefused) {
  plan::Plan plan = SomePlan();
  for (int i = 0; i < kMaxSlots; ++i) {
    plan.fs.regions.push_back(
        {"/w/f" + std::to_string(i), RegionSource::kMask, Rights::kReadOnly, false, 1, 9});
  }
  EXPECT_EQ(MountOps(plan).error().reason, Reason::kScanBudget);
}

}  // namespace
}  // namespace cordon::backend
