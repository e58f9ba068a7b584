#include "spawn/file_gate.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cordon::spawn {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;

plan::Plan SomePlan() {
  plan::Plan plan;
  plan.backend = host::Backend::kLandlock;
  plan.devices = {"/dev/kvm"};
  plan.masked_system = {"/proc/secret"};
  plan.fs.absent = {"/w/later"};
  plan.fs.names = {{.path = "/w/.mcp.json"}, {.path = "/w/no", .kind = plan::RuleKind::kDenyNew}};
  plan.fs.regions = {{"/", RegionSource::kMask, Rights::kReadOnly, true, 0, 0},
                     {"/usr", RegionSource::kHost, Rights::kReadOnly, true, 1, 2},
                     {"/w", RegionSource::kHost, Rights::kReadWrite, true, 1, 3},
                     {"/w/.git", RegionSource::kHost, Rights::kReadWrite, true, 1, 4},
                     {"/w/.env", RegionSource::kMask, Rights::kReadOnly, false, 1, 5},
                     {"/w/.git/hooks", RegionSource::kHost, Rights::kReadOnly, true, 1, 6}};
  return plan;
}

int ErrorOf(const Answer<void>& answer) { return answer ? 0 : answer.error(); }

class FileGateTest : public testing::Test {
 protected:
  plan::Plan plan_ = SomePlan();
  FileGate gate_{plan_, getpid()};
};

TEST_F(FileGateTest, ReadsByRegion) {
  for (const char* path : {"/usr", "/usr/bin/ls", "/w/a", "/w/.git/hooks/x", "/w/.envrc",
                           "/sys/class/net", "/dev/null", "/dev/kvm"}) {
    EXPECT_EQ(ErrorOf(gate_.MayRead(path)), 0) << path;
  }
  for (const char* path : {"/", "/etc/passwd", "/w/.env", "/w/later", "/w/later/x", "/dev/sda",
                           "/dev/shm/x", "/dev", "/proc/1", "/sys/firmware/x", "/tmp/x", "/usrx"}) {
    EXPECT_EQ(ErrorOf(gate_.MayRead(path)), EACCES) << path;
  }
}

TEST_F(FileGateTest, ChangesInWritableRegionsOnly) {
  for (const char* path : {"/w", "/w/a", "/w/.git/index", "/w/no", "/dev/null"}) {
    EXPECT_EQ(ErrorOf(gate_.MayChange(path)), 0) << path;
  }
  for (const char* path : {"/usr/bin/ls", "/w/.git/hooks", "/w/.git/hooks/x", "/w/.mcp.json",
                           "/w/.MCP.json", "/sys/power/state"}) {
    EXPECT_EQ(ErrorOf(gate_.MayChange(path)), EROFS) << path;
  }
  for (const char* path : {"/etc/passwd", "/w/.env", "/w/later", "/dev/sda"}) {
    EXPECT_EQ(ErrorOf(gate_.MayChange(path)), EACCES) << path;
  }
}

TEST_F(FileGateTest, WhatWouldBeAMountPointStaysWhereItIs) {
  EXPECT_EQ(ErrorOf(gate_.MayUnname("/w/a")), 0);
  for (const char* path : {"/w", "/w/.git", "/w/.env", "/w/.git/hooks"}) {
    EXPECT_EQ(ErrorOf(gate_.MayUnname(path)), EBUSY) << path;
  }
  EXPECT_EQ(ErrorOf(gate_.MayUnname("/dev/null")), EROFS);
}

TEST_F(FileGateTest, NothingMovesAcrossRegions) {
  EXPECT_TRUE(gate_.SameRegion("/w/a", "/w/b/c"));
  EXPECT_FALSE(gate_.SameRegion("/w/a", "/w/.git/a"));
  EXPECT_FALSE(gate_.SameRegion("/w/.git/hooks/a", "/w/.git/a"));
}

TEST_F(FileGateTest, OfProcOnlyTheSandboxesOwn) {
  seccomp_notif notification{};
  notification.pid = static_cast<uint32_t>(getpid());
  Caller caller(-1, notification, -1, "/own");
  std::string own = "/proc/" + std::to_string(getpid());
  for (const std::string& path : {own + "/status", own + "/mem", std::string("/proc/meminfo"),
                                  std::string("/proc/sys/kernel/pid_max")}) {
    EXPECT_EQ(ErrorOf(gate_.MayReadProc(caller, path)), 0) << path;
  }
  EXPECT_EQ(ErrorOf(gate_.MayReadProc(caller, "/proc/1/comm")), ENOENT);
  EXPECT_EQ(ErrorOf(gate_.MayReadProc(caller, "/proc/" + std::to_string(getppid()) + "/comm")),
            ENOENT);
  for (const std::string& path : {own + "/net/tcp", std::string("/proc/kcore"),
                                  std::string("/proc/secret"), std::string("/proc")}) {
    EXPECT_EQ(ErrorOf(gate_.MayReadProc(caller, path)), EACCES) << path;
  }
  plan_.net.mode = NetMode::kOpen;
  EXPECT_EQ(ErrorOf(gate_.MayReadProc(caller, own + "/net/tcp")), 0);
}

}  // namespace
}  // namespace cordon::spawn
