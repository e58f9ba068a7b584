#include "spawn/tree_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace cordon::spawn {
namespace {

// A root with a /proc of our own making.
class FakeProc : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cordon-proc-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
    std::filesystem::create_directory(top_ / "proc");
    root_.reset(open(name, O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  // Ticks of a hundredth of a second, in user mode and of reaped children.
  void Process(int pid, const std::string& name, long user, long children) {
    std::filesystem::path folder = top_ / "proc" / std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "stat") << pid << " (" << name << ") S 1 1 1 0 -1 4194560 9 9 9 9 "
                                   << user << " 0 " << children << " 0 20 0 1 0";
  }

  bool OverCpu(uint64_t limit_ms) {
    plan::Plan plan;
    plan.limits.cpu_ms = limit_ms;
    auto excess = TreeWatch(root_.get(), plan).Exceeded();
    return excess && excess->reason == Reason::kCpuLimit;
  }

 private:
  std::filesystem::path top_;
  sys::UniqueFd root_;
};

constexpr uint64_t kHour = 3'600'000;

TEST_F(FakeProc, TimesOfAllProcessesAreAdded) {
  Process(2, "a", 6, 0);
  Process(3, "b) S 1 (", 3, 2);
  EXPECT_TRUE(OverCpu(100));   // 110 ms
  EXPECT_FALSE(OverCpu(110));  // the limit itself is not over it
}

TEST_F(FakeProc, TimesThatNobodyCanHaveHadEndNothing) {
  Process(2, "ending", 1L << 40, 0);
  EXPECT_FALSE(OverCpu(kHour));
  EXPECT_TRUE(OverCpu(100));  // that much there can have been
  Process(2, "ending", -1, 0);
  EXPECT_FALSE(OverCpu(100));
}

TEST_F(FakeProc, WithoutALimitNothingIsLookedAt) {
  plan::Plan plan;
  EXPECT_FALSE(TreeWatch(-1, plan).needed());
}

}  // namespace
}  // namespace cordon::spawn
