#include "backend/linux/self.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sys/uapi.h"

namespace cordon::backend {
namespace {

using plan::RegionSource;
using plan::Rights;

plan::Plan SomePlan() {
  plan::Plan plan;
  plan.backend = host::Backend::kLandlock;
  plan.landlock_abi = 7;
  plan.fs.regions = {{"/", RegionSource::kMask, Rights::kReadOnly, true, 0, 0},
                     {"/usr", RegionSource::kHost, Rights::kReadOnly, true, 1, 2},
                     {"/w", RegionSource::kHost, Rights::kReadWrite, true, 1, 3},
                     {"/home/u/.ssh", RegionSource::kMask, Rights::kReadOnly, true, 1, 4}};
  plan.programs = {{"/usr", true, false}, {"/w", true, false}};
  return plan;
}

uint64_t Access(const SelfSpec& self, const std::string& path) {
  uint64_t access = 0;
  for (const LandlockRule& rule : self.spec.landlock.rules) {
    if (rule.path == path) access |= rule.access;
  }
  return access;
}

TEST(SelfRules, ReadingIsReadingListingAndExecuting) {
  EXPECT_EQ(Access(CompileSelf(SomePlan()), "/usr"),
            uapi::kFsExecute | uapi::kFsReadFile | uapi::kFsReadDir);
}

TEST(SelfRules, AWritableTreeIsWritable) {
  uint64_t access = Access(CompileSelf(SomePlan()), "/w");
  EXPECT_NE(access & uapi::kFsWriteFile, 0u);
  EXPECT_NE(access & uapi::kFsMakeDir, 0u);
  EXPECT_EQ(access & (uapi::kFsMakeChar | uapi::kFsMakeBlock), 0u);
}

TEST(SelfRules, WhatIsDeniedIsGrantedNothing) {
  EXPECT_EQ(Access(CompileSelf(SomePlan()), "/home/u/.ssh"), 0u);
  EXPECT_EQ(Access(CompileSelf(SomePlan()), "/"), 0u);
}

TEST(SelfRules, ADenyInAWritableTreeIsToldApartByNobody) {
  plan::Plan plan = SomePlan();
  EXPECT_TRUE(CompileSelf(plan).hole.empty());
  plan.fs.regions.push_back({"/w/.env", RegionSource::kMask, Rights::kReadOnly, false, 1, 5});
  EXPECT_EQ(CompileSelf(plan).hole, "/w/.env");
}

TEST(SelfRules, TheNetworkIsClosedTwice) {
  plan::Plan plan = SomePlan();
  SelfSpec none = CompileSelf(plan);
  EXPECT_EQ(none.spec.landlock.handled_net, uapi::kNetBindTcp | uapi::kNetConnectTcp);
  plan.net.mode = NetMode::kOpen;
  SelfSpec open = CompileSelf(plan);
  EXPECT_EQ(open.spec.landlock.handled_net, 0u);
  EXPECT_NE(open.spec.seccomp, none.spec.seccomp);
}

TEST(SelfRules, PowersGoFirstAndTheFilterComesLast) {
  std::vector<Step> steps = CompileSelf(SomePlan()).spec.steps;
  EXPECT_EQ(steps.back().op, Op::kFilter);
  EXPECT_EQ(steps[steps.size() - 2].op, Op::kLandlock);
  EXPECT_EQ(steps[steps.size() - 3].op, Op::kDropCapabilities);
}

}  // namespace
}  // namespace cordon::backend
