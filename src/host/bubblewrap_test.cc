#include "host/bubblewrap.h"

#include <gmock/gmock.h>

#include "host/backend.h"

namespace cordon::host {
namespace {

using testing::HasSubstr;

TEST(Bubblewrap, TheVersionIsRead) {
  EXPECT_TRUE(IsRecentBubblewrap("bubblewrap 0.8.0\n"));
  EXPECT_TRUE(IsRecentBubblewrap("bubblewrap 0.11.0"));
  EXPECT_TRUE(IsRecentBubblewrap("bubblewrap 1.0"));
  EXPECT_FALSE(IsRecentBubblewrap("bubblewrap 0.7.0"));
  EXPECT_FALSE(IsRecentBubblewrap("something else"));
  EXPECT_FALSE(IsRecentBubblewrap(""));
}

TEST(Bubblewrap, ItsWordsAreExplained) {
  const std::pair<const char*, const char*> cases[] = {
      {"bwrap: Unknown option --disable-userns", "too old"},
      {"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "/proc"},
      {"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"},
      {"bwrap: setting up uid map: Permission denied", "user namespaces are denied"},
      {"bwrap: Creating new namespace failed: Operation not permitted", "container"},
      {"bwrap: No permissions to creating new namespace, likely because the kernel", "kernel"},
      {"bwrap: Failed to make / slave: Permission denied", "container"},
      {"bwrap: Can't find source path /x: No such file or directory", "went away"},
      {"bwrap: Can't mkdir /x: Read-only file system", "mount point"},
  };
  for (const auto& [said, meaning] : cases) {
    Cause cause = BubblewrapCause(said);
    EXPECT_THAT(cause.detail, HasSubstr(meaning)) << said;
    EXPECT_THAT(cause.detail, HasSubstr(said));
    EXPECT_FALSE(cause.remedy.empty()) << said;
  }
  EXPECT_FALSE(BubblewrapCause("").detail.empty());
  EXPECT_EQ(BubblewrapCause("bwrap: \x1b[2Jx").detail.find('\x1b'), std::string::npos);
}

TEST(Bubblewrap, IsTakenBeforeLandlock) {
  std::vector<Finding> findings = {{.feature = "landlock", .available = true},
                                   {.feature = "seccomp notification", .available = true}};
  EXPECT_EQ(Choose(Backends(findings)), Backend::kLandlock);
  findings.push_back({.feature = "bubblewrap", .available = true, .detail = "/usr/bin/bwrap"});
  EXPECT_EQ(Choose(Backends(findings)), Backend::kBubblewrap);
  EXPECT_TRUE(DefaultIsFull(Enforceable(findings)));
  findings.back().detail += kSetuid;
  std::vector<Enforcement> features = Enforceable(findings);
  EXPECT_EQ(std::ranges::find(features, "limits.processes", &Enforcement::feature)->level,
            Level::kPartial);
}

}  // namespace
}  // namespace cordon::host
