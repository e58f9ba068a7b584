#include "plan/floor.h"

#include <gmock/gmock.h>

#include "host/fake_paths.h"

namespace cordon::plan {
namespace {

using host::FakePaths;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

TEST(FloorPaths, NamesThatNeedNotExist) {
  FakePaths paths;
  paths.Directory("/w");
  for (GitMode git : {GitMode::kProtect, GitMode::kAllowConfig, GitMode::kOff}) {
    std::vector<std::string> floor = *FloorPaths(paths, "/w", git);
    for (const char* name : {".bashrc", ".mcp.json", ".vscode", ".codex", ".cordon.toml"}) {
      EXPECT_THAT(floor, Contains(std::string("/w/") + name));
    }
  }
  EXPECT_THAT(*FloorPaths(paths, "/", GitMode::kProtect), Contains("/.bashrc"));
}

TEST(FloorPaths, HooksAreKeptWhenConfigIsNot) {
  FakePaths paths;
  paths.File("/w/.git/config").Directory("/w/.git/hooks");
  std::vector<std::string> protect = *FloorPaths(paths, "/w", GitMode::kProtect);
  for (const char* name : {"hooks", "config", "config.worktree", "commondir"}) {
    EXPECT_THAT(protect, Contains(std::string("/w/.git/") + name));
  }
  std::vector<std::string> allow = *FloorPaths(paths, "/w", GitMode::kAllowConfig);
  EXPECT_THAT(allow, Contains("/w/.git/hooks"));
  EXPECT_THAT(allow, Not(Contains("/w/.git/config")));
  EXPECT_THAT(protect, Contains("/w/.gitmodules"));
  EXPECT_THAT(allow, Not(Contains("/w/.gitmodules")));
  EXPECT_THAT(*FloorPaths(paths, "/w", GitMode::kOff), Not(Contains("/w/.git/hooks")));
}

TEST(FloorPaths, WhatCannotBeLookedIntoIsRefused) {
  FakePaths closed;
  closed.Directory("/w").Link("/w/.git", "/w/.git");
  Result<std::vector<std::string>> floor = FloorPaths(closed, "/w", GitMode::kProtect);
  ASSERT_FALSE(floor);
  EXPECT_EQ(floor.error().reason, Reason::kScanBlocked);
}

TEST(FloorPaths, Submodules) {
  FakePaths paths;
  paths.File("/w/.git/config").File("/w/.git/modules/lib/inner/config");
  std::vector<std::string> floor = *FloorPaths(paths, "/w", GitMode::kProtect);
  EXPECT_THAT(floor, Contains("/w/.git/modules/lib/inner/hooks"));
  EXPECT_THAT(floor, Contains("/w/.git/modules/lib/inner/config"));
}

TEST(FloorPaths, LinkedWorktree) {
  FakePaths paths;
  paths.File("/w/.git", "gitdir: /main/.git/worktrees/w\n")
      .File("/main/.git/worktrees/w/commondir", "../..\n")
      .File("/main/.git/worktrees/w/gitdir", "/w/.git\n")
      .File("/main/.git/config")
      .Directory("/main/.git/objects");
  std::vector<std::string> floor = *FloorPaths(paths, "/w", GitMode::kProtect);
  for (const char* path : {"/w/.git", "/main/.git/config", "/main/.git/hooks",
                           "/main/.git/worktrees/w/gitdir", "/main/.git/worktrees/w/commondir"}) {
    EXPECT_THAT(floor, Contains(path));
  }
  EXPECT_THAT(LinkedGitDirectories(paths, "/w"), ElementsAre("/main/.git"));
}

TEST(LinkedGitDirectories, OnlyOneThatPointsBack) {
  FakePaths paths;
  paths.File("/w/.git", "gitdir: /home/me/.ssh\n").Directory("/home/me/.ssh");
  EXPECT_THAT(LinkedGitDirectories(paths, "/w"), IsEmpty());
  paths.File("/home/me/.ssh/commondir", "/home/me\n").File("/home/me/.ssh/gitdir", "/other/.git\n");
  EXPECT_THAT(LinkedGitDirectories(paths, "/w"), IsEmpty());
  FakePaths plain;
  plain.Directory("/w/.git");
  EXPECT_THAT(LinkedGitDirectories(plain, "/w"), IsEmpty());
}

TEST(ScanTrees, RepositoriesDownToTheDepth) {
  FakePaths paths;
  paths.Directory("/w/.git").Directory("/w/a/.git").Directory("/w/a/b/.git").File("/w/c/.git");
  auto found = [&](int depth) { return ScanTrees(paths, {"/w"}, {}, depth)->repositories; };
  EXPECT_THAT(found(1), ElementsAre("/w"));
  EXPECT_THAT(found(2), UnorderedElementsAre("/w", "/w/a", "/w/c"));
  EXPECT_THAT(found(5), UnorderedElementsAre("/w", "/w/a", "/w/c", "/w/a/b"));
}

TEST(ScanTrees, PatternsReachBelowTheDepth) {
  FakePaths paths;
  paths.File("/w/1/2/3/4/.env").File("/w/.env").File("/w/1/.envrc");
  Result<Scan> scan = ScanTrees(paths, {"/w"}, {"/w/**/.env"}, 1);
  EXPECT_THAT(scan->glob_matches, UnorderedElementsAre("/w/.env", "/w/1/2/3/4/.env"));
}

}  // namespace
}  // namespace cordon::plan
