#include "backend/linux/landlock_rules.h"

#include <gtest/gtest.h>

#include "sys/uapi.h"

namespace cordon::backend {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;

plan::Plan SomePlan(int abi) {
  plan::Plan plan;
  plan.landlock_abi = abi;
  plan.fs.regions = {{"/", RegionSource::kHost, Rights::kReadOnly, true, 0, 0},
                     {"/w", RegionSource::kHost, Rights::kReadWrite, true, 0, 0},
                     {"/w/.git", RegionSource::kHost, Rights::kReadWrite, true, 0, 0},
                     {"/w/.git/config", RegionSource::kHost, Rights::kReadOnly, false, 0, 0},
                     {"/w/.env", RegionSource::kMask, Rights::kReadOnly, false, 0, 0}};
  return plan;
}

uint64_t AccessAt(const LandlockRules& rules, const std::string& path) {
  for (const LandlockRule& rule : rules.rules) {
    if (rule.path == path) return rule.access;
  }
  return 0;
}

// What each version of the ABI brought: refer in 2, truncate in 3, device
// ioctls in 5, scopes in 6.
TEST(MakeLandlockRules, HandlesWhatTheAbiHas) {
  EXPECT_EQ(MakeLandlockRules(SomePlan(0)).handled_fs, 0u);
  constexpr uint64_t kFirst = (1ull << 13) - 1;
  EXPECT_EQ(MakeLandlockRules(SomePlan(1)).handled_fs, kFirst);
  EXPECT_EQ(MakeLandlockRules(SomePlan(2)).handled_fs, kFirst | (1ull << 13));
  EXPECT_EQ(MakeLandlockRules(SomePlan(3)).handled_fs, kFirst | (3ull << 13));
  EXPECT_EQ(MakeLandlockRules(SomePlan(4)).handled_fs, kFirst | (3ull << 13));
  EXPECT_EQ(MakeLandlockRules(SomePlan(5)).handled_fs, kFirst | (7ull << 13));
  EXPECT_EQ(MakeLandlockRules(SomePlan(5)).scoped, 0u);
  EXPECT_EQ(MakeLandlockRules(SomePlan(6)).scoped, 3u);
  EXPECT_EQ(MakeLandlockRules(SomePlan(9)).scoped, 3u);
}

TEST(MakeLandlockRules, GrantsNoMoreThanItHandles) {
  for (int abi = 1; abi <= 9; ++abi) {
    LandlockRules rules = MakeLandlockRules(SomePlan(abi));
    for (const LandlockRule& rule : rules.rules) {
      EXPECT_EQ(rule.access & ~rules.handled_fs, 0u) << abi << " " << rule.path;
      EXPECT_NE(rule.access, 0u) << abi << " " << rule.path;
    }
  }
}

TEST(MakeLandlockRules, DevicesAreMadeNowhere) {
  for (const LandlockRule& rule : MakeLandlockRules(SomePlan(7)).rules) {
    EXPECT_EQ(rule.access & (uapi::kFsMakeChar | uapi::kFsMakeBlock), 0u) << rule.path;
  }
}

TEST(MakeLandlockRules, WritesOnlyInWritableRegions) {
  LandlockRules rules = MakeLandlockRules(SomePlan(7));
  EXPECT_EQ(AccessAt(rules, "/") & uapi::kFsWriteFile, 0u);
  EXPECT_NE(AccessAt(rules, "/w") & uapi::kFsWriteFile, 0u);
  EXPECT_EQ(AccessAt(rules, "/w/.env"), 0u);  // a mask needs no rule
  EXPECT_EQ(AccessAt(rules, "/proc") & uapi::kFsWriteFile, 0u);
  EXPECT_EQ(AccessAt(rules, "/sys") & uapi::kFsWriteFile, 0u);
  EXPECT_NE(AccessAt(rules, "/dev") & uapi::kFsWriteFile, 0u);  // >/dev/null
}

TEST(MakeLandlockRules, AFileHasNoRightsOfDirectories) {
  plan::Plan plan = SomePlan(7);
  plan.fs.regions.push_back({"/o/file", RegionSource::kHost, Rights::kReadWrite, false, 0, 0});
  uint64_t access = AccessAt(MakeLandlockRules(plan), "/o/file");
  EXPECT_NE(access & uapi::kFsWriteFile, 0u);
  EXPECT_EQ(access & (uapi::kFsReadDir | uapi::kFsMakeSym | uapi::kFsRefer), 0u);
}

TEST(MakeLandlockRules, AnOwnRootCanBeListedAndNoMore) {
  plan::Plan plan = SomePlan(7);
  plan.fs.regions[0].source = RegionSource::kPrivate;
  EXPECT_EQ(AccessAt(MakeLandlockRules(plan), "/"), uapi::kFsReadDir);
}

}  // namespace
}  // namespace cordon::backend
