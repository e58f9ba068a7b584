#include "host/doctor.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "host/backend.h"
#include "host/kernel_probe.h"
#include "host/userns_probe.h"

namespace cordon::host {
namespace {

std::vector<Finding> AllAvailable() {
  std::vector<Finding> findings;
  for (const char* feature :
       {"system calls", "user namespaces", "mount namespace", "pid namespace", "network namespace",
        "ipc, uts and cgroup namespaces", "landlock", "seccomp notification", "pidfd_getfd"}) {
    findings.push_back({.feature = feature, .available = true});
  }
  return findings;
}

Finding& At(std::vector<Finding>& findings, std::string_view feature) {
  return *std::ranges::find(findings, feature, &Finding::feature);
}

Level LevelOf(const std::vector<Enforcement>& features, std::string_view feature) {
  return std::ranges::find(features, feature, &Enforcement::feature)->level;
}

TEST(Enforceable, EverythingAvailableIsTheDefaultInFull) {
  std::vector<Enforcement> features = Enforceable(AllAvailable());
  EXPECT_EQ(features.size(), 15u);
  EXPECT_TRUE(DefaultIsFull(features));
}

TEST(Enforceable, WithoutUserNamespacesTheLandlockBackendGivesMost) {
  std::vector<Finding> findings = AllAvailable();
  At(findings, "user namespaces").available = false;
  std::vector<Enforcement> features = Enforceable(findings);
  EXPECT_EQ(features.size(), 15u);
  EXPECT_EQ(LevelOf(features, "fs.write"), Level::kFull);
  EXPECT_EQ(LevelOf(features, "net"), Level::kFull);
  EXPECT_EQ(LevelOf(features, "pid"), Level::kPartial);
  EXPECT_FALSE(DefaultIsFull(features));
}

TEST(Enforceable, WithoutUserNamespacesAndLandlockThereIsNothing) {
  std::vector<Finding> findings = AllAvailable();
  At(findings, "user namespaces").available = false;
  At(findings, "landlock").available = false;
  std::vector<Enforcement> features = Enforceable(findings);
  EXPECT_FALSE(DefaultIsFull(features));
  EXPECT_TRUE(std::ranges::all_of(
      features, [](const Enforcement& item) { return item.level == Level::kNone; }));
}

TEST(Enforceable, WithoutLandlockFilesArePartial) {
  std::vector<Finding> findings = AllAvailable();
  At(findings, "landlock").available = false;
  std::vector<Enforcement> features = Enforceable(findings);
  EXPECT_EQ(LevelOf(features, "fs.read"), Level::kPartial);
  EXPECT_EQ(LevelOf(features, "net"), Level::kFull);
  EXPECT_FALSE(DefaultIsFull(features));
}

TEST(Enforceable, WithoutIdmappedMountsALaunchByRootIsPartial) {
  std::vector<Finding> findings = AllAvailable();
  findings.push_back({.feature = "id-mapped mounts"});
  std::vector<Enforcement> features = Enforceable(findings);
  EXPECT_EQ(LevelOf(features, "fs.write"), Level::kPartial);
  EXPECT_EQ(LevelOf(features, "net"), Level::kFull);
  EXPECT_FALSE(DefaultIsFull(features));
}

TEST(Enforceable, WhatWasNotFoundIsNotThere) { EXPECT_FALSE(DefaultIsFull(Enforceable({}))); }

TEST(Enforceable, WhatIsOnlyHelpfulDoesNotCount) {
  std::vector<Finding> findings = AllAvailable();
  findings.push_back({.feature = "cgroups", .need = Need::kHelpful});
  EXPECT_TRUE(DefaultIsFull(Enforceable(findings)));
}

TEST(Backends, TheFirstThatIsAvailableIsChosen) {
  std::vector<Finding> findings = AllAvailable();
  EXPECT_EQ(Choose(Backends(findings)), Backend::kNamespaces);
  At(findings, "pid namespace") = {.feature = "pid namespace", .detail = "/proc is covered"};
  std::vector<BackendState> table = Backends(findings);
  EXPECT_EQ(Choose(table), Backend::kLandlock);
  EXPECT_EQ(table[0].detail, "no pid namespace: /proc is covered");
  At(findings, "seccomp notification").available = false;
  EXPECT_FALSE(Backends(findings)[1].available);
}

TEST(Backends, NoneIsForThoseWhoNameIt) {
  EXPECT_EQ(Choose(Backends({})), Backend::kNone);
  EXPECT_EQ(*ParseBackend("none"), Backend::kNone);
  EXPECT_EQ(*ParseBackend("landlock"), Backend::kLandlock);
  EXPECT_EQ(ParseBackend("Landlock").error().reason, Reason::kUnsupported);
}

TEST(CauseOf, TellsTheCausesApart) {
  auto detail = [](int error, NamespaceSigns signs, NamespaceStep step = NamespaceStep::kClone) {
    Cause cause = CauseOf(step, error, signs);
    EXPECT_FALSE(cause.remedy.empty());
    return cause.detail;
  };
  EXPECT_NE(detail(ENOSPC, {.max_user_namespaces = 0}).find("max_user_namespaces is 0"),
            std::string::npos);
  EXPECT_NE(detail(ENOSPC, {.inside_cordon = true}).find("another Cordon"), std::string::npos);
  EXPECT_NE(detail(EPERM, {.unprivileged_userns_clone = 0}).find("unprivileged_userns_clone"),
            std::string::npos);
  EXPECT_NE(detail(EACCES, {.apparmor_restrict = 1}, NamespaceStep::kMap).find("AppArmor"),
            std::string::npos);
  EXPECT_NE(detail(EPERM, {.seccomp_mode = 2}).find("seccomp"), std::string::npos);
  EXPECT_NE(detail(ENOSYS, {.seccomp_mode = 2}).find("seccomp"), std::string::npos);
  EXPECT_NE(detail(EPERM, {}, NamespaceStep::kProc).find("/proc"), std::string::npos);
  EXPECT_NE(detail(EINVAL, {}).find("does not have them"), std::string::npos);
  EXPECT_NE(detail(EPERM, {}).find("chroot"), std::string::npos);
  EXPECT_NE(detail(EINVAL, {}, NamespaceStep::kUser).find("uid 65534"), std::string::npos);
}

TEST(CauseOf, AnUnknownErrorIsToldAsItIs) {
  EXPECT_EQ(CauseOf(NamespaceStep::kTmpfs, EIO, {}).detail, "Input/output error");
}

TEST(LandlockFinding, TellsWhatTheNextAbiWouldAdd) {
  EXPECT_EQ(LandlockFinding(5, 0).detail,
            "ABI 5; ABI 6 would add scopes for signals and abstract unix sockets");
  EXPECT_EQ(LandlockFinding(9, 0).detail, "ABI 9");
  EXPECT_FALSE(LandlockFinding(1, 0).available);
  EXPECT_NE(LandlockFinding(0, EOPNOTSUPP).remedy.find("lsm="), std::string::npos);
  EXPECT_NE(LandlockFinding(0, ENOSYS).remedy.find("CONFIG_SECURITY_LANDLOCK"), std::string::npos);
}

TEST(Try, GivesTheAnswerOfTheChild) {
  int asked = 7;
  TrialResult result = Try(
      TrialUser::kSelf,
      [](const void* argument) { return TrialResult{*static_cast<const int*>(argument), 0}; },
      &asked);
  EXPECT_EQ(result, (TrialResult{7, 0}));
  EXPECT_EQ(Try(TrialUser::kSelf, [](const void*) -> TrialResult { abort(); }).error, ECHILD);
}

}  // namespace
}  // namespace cordon::host
