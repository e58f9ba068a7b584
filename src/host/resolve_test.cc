#include "host/resolve.h"

#include <gtest/gtest.h>

#include "host/fake_paths.h"
#include "host/real_paths.h"

namespace cordon::host {
namespace {

TEST(Resolve, FollowsLinksToWhatExists) {
  FakePaths paths;
  paths.File("/w/a").Link("/w/b", "a").Link("/v", "/w");
  Resolution found = Resolve(paths, "/v/b");
  EXPECT_EQ(found.path, "/w/a");
  EXPECT_EQ(found.info.type, FileType::kRegular);
  EXPECT_EQ(found.links.size(), 2u);
}

TEST(Resolve, FollowsADanglingLink) {
  FakePaths paths;
  paths.Directory("/w").Directory("/etc").Link("/w/out", "../etc/new");
  Resolution found = Resolve(paths, "/w/out");
  EXPECT_EQ(found.path, "/etc/new");
  EXPECT_EQ(found.info.type, FileType::kMissing);
}

TEST(Resolve, KeepsTheMissingTailOfALinkedDirectory) {
  FakePaths paths;
  paths.Directory("/real/d").Link("/w/d", "/real/d");
  EXPECT_EQ(Resolve(paths, "/w/d/x/y").path, "/real/d/x/y");
  EXPECT_EQ(DeepestExisting(paths, "/real/d/x/y"), "/real/d");
}

TEST(Resolve, DotDotIsTheParentOfWhereTheLinkLeads) {
  FakePaths paths;
  paths.Directory("/real/d").Link("/w/d", "/real/d");
  EXPECT_EQ(Resolve(paths, "/w/d/../x").path, "/real/x");
}

TEST(Resolve, ALoopEndsAndIsUnreachable) {
  FakePaths paths;
  paths.Link("/w/a", "b").Link("/w/b", "a");
  EXPECT_EQ(Resolve(paths, "/w/a").info.type, FileType::kUnreachable);
}

TEST(Resolve, WhatALockedDirectoryHoldsIsUnreachable) {
  FakePaths paths;
  paths.Locked("/root");
  Resolution found = Resolve(paths, "/root/x");
  EXPECT_EQ(found.path, "/root/x");
  EXPECT_EQ(found.info.type, FileType::kUnreachable);
}

TEST(Resolve, AgreesWithTheRealFileSystem) {
  RealPaths paths;
  EXPECT_EQ(Resolve(paths, "/").path, "/");
  EXPECT_EQ(Resolve(paths, "/no-such-thing/x").path, "/no-such-thing/x");
  EXPECT_EQ(DeepestExisting(paths, "/no-such-thing/x"), "/");
}

}  // namespace
}  // namespace cordon::host
