#include "sys/resolve_path.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cordon::sys {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ResolvePathTest : public testing::Test {
 protected:
  ResolvePathTest() {
    char name[] = "/tmp/cordon-resolve-XXXXXX";
    top_ = mkdtemp(name);
    fs::create_directories(top_ + "/real/dir");
    std::ofstream(top_ + "/real/file") << "x";
  }
  ~ResolvePathTest() override { fs::remove_all(top_); }

  void Link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, top_ + name);
  }
  // Below top_ in and out.
  std::string Resolve(const std::string& path) {
    Result<ResolvedPath> resolved = ResolvePath(top_ + path);
    if (!resolved) return "error: " + resolved.error().message;
    std::string& end = resolved->path;
    return end.starts_with(top_ + "/") ? end.substr(top_.size()) : "outside " + end;
  }

  std::string top_;
};

TEST_F(ResolvePathTest, PlainPathsStayThemselves) {
  EXPECT_EQ(Resolve("/real/file"), "/real/file");
  EXPECT_EQ(Resolve("//real/./dir/../file"), "/real/file");
  EXPECT_EQ(ResolvePath("/")->path, "/");
  EXPECT_EQ(ResolvePath("/..")->path, "/");
  EXPECT_EQ(ResolvePath("/")->hops.size(), 1u);
}

TEST_F(ResolvePathTest, WhatDoesNotExistYetIsResolvedFromItsDeepestAncestor) {
  Link("real", "/link");
  EXPECT_EQ(Resolve("/link/new/deep/file"), "/real/new/deep/file");
  Result<ResolvedPath> resolved = ResolvePath(top_ + "/link/new/deep/file");
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->ancestor, top_ + "/real");
  EXPECT_EQ(ResolvePath(top_ + "/link/dir")->ancestor, top_ + "/real/dir");
  EXPECT_EQ(Resolve("/missing/../link/file"), "/real/file");
  EXPECT_EQ(Resolve("/missing/x/../../link/file"), "/real/file");
}

TEST_F(ResolvePathTest, DotDotGoesUpFromWhereALinkLed) {
  Link("real/dir", "/link");
  EXPECT_EQ(Resolve("/link/../file"), "/real/file");
  Link("/", "/top");
  EXPECT_EQ(Resolve("/top/etc/.."), "outside /");
}

TEST_F(ResolvePathTest, ADanglingLinkLeadsToItsTarget) {
  Link("real/later", "/link");
  EXPECT_EQ(Resolve("/link"), "/real/later");
  EXPECT_EQ(Resolve("/link/x"), "/real/later/x");
  Link("/nowhere/at/all", "/absolute");
  EXPECT_EQ(Resolve("/absolute"), "outside /nowhere/at/all");
}

TEST_F(ResolvePathTest, HopsAreAllPathsToCheck) {
  Link("second", "/first");
  Link(top_ + "/real", "/second");
  Result<ResolvedPath> resolved = ResolvePath(top_ + "/first/file");
  ASSERT_TRUE(resolved);
  EXPECT_THAT(resolved->hops,
              ElementsAre(top_ + "/first/file", top_ + "/second/file", top_ + "/real/file"));
}

TEST_F(ResolvePathTest, FortyLinksAreFollowedAndNoMore) {
  Link("real", "/l0");
  for (int i = 1; i <= 40; ++i) Link("l" + std::to_string(i - 1), "/l" + std::to_string(i));
  EXPECT_EQ(Resolve("/l39/file"), "/real/file");
  Result<ResolvedPath> much = ResolvePath(top_ + "/l40/file");
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().reason, Reason::kPathInvalid);
  Link("b", "/a");
  Link("a", "/b");
  EXPECT_FALSE(ResolvePath(top_ + "/a"));
}

TEST_F(ResolvePathTest, RefusesWhatIsNoPath) {
  for (const std::string& path :
       {std::string(), std::string("relative"), std::string("/a\0b", 4),
        "/" + std::string(256, 'x'), "/" + std::string(5000, '/') + "x"}) {
    Result<ResolvedPath> resolved = ResolvePath(path);
    ASSERT_FALSE(resolved) << path.substr(0, 20);
    EXPECT_EQ(resolved.error().reason, Reason::kPathInvalid);
  }
  EXPECT_TRUE(ResolvePath("/" + std::string(255, 'x')));
}

TEST_F(ResolvePathTest, LinksOfProcessesAreNoticed) {
  EXPECT_TRUE(ResolvePath("/proc/self/root/etc/passwd")->by_process);
  EXPECT_EQ(ResolvePath("/proc/self/root/etc")->path, "/etc");
  EXPECT_TRUE(ResolvePath("/proc/" + std::to_string(getpid()) + "/cwd/x")->by_process);
  EXPECT_FALSE(ResolvePath("/proc/self/status")->by_process);
  Link("/proc/self/root", "/link");
  EXPECT_TRUE(ResolvePath(top_ + "/link/etc")->by_process);
}

TEST_F(ResolvePathTest, HardLinksAreCounted) {
  EXPECT_EQ(ResolvePath(top_ + "/real/file")->links, 1u);
  fs::create_hard_link(top_ + "/real/file", top_ + "/other");
  EXPECT_EQ(ResolvePath(top_ + "/other")->links, 2u);
  EXPECT_EQ(ResolvePath(top_ + "/real")->links, 0u);
  EXPECT_EQ(ResolvePath(top_ + "/real/new")->links, 0u);
  EXPECT_TRUE(HoldsFile(top_ + "/real", *IdentityOf(top_ + "/other")));
  EXPECT_FALSE(HoldsFile(top_ + "/real/dir", *IdentityOf(top_ + "/other")));
  EXPECT_FALSE(HoldsFile(top_ + "/missing", *IdentityOf(top_ + "/other")));
}

TEST_F(ResolvePathTest, FindsTheFirstSymlink) {
  Link("real", "/link");
  EXPECT_EQ(*FindSymlink(top_ + "/link/file"), top_ + "/link");
  EXPECT_EQ(*FindSymlink(top_ + "/real/file"), std::nullopt);
  EXPECT_EQ(*FindSymlink(top_ + "/missing/link"), std::nullopt);
  Link("nowhere", "/dangling");
  EXPECT_EQ(*FindSymlink(top_ + "/dangling"), top_ + "/dangling");
  EXPECT_FALSE(FindSymlink("relative"));
}

TEST_F(ResolvePathTest, WhatCannotBeLookedAtIsAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may look everywhere";
  ASSERT_EQ(chmod((top_ + "/real").c_str(), 0), 0);
  EXPECT_FALSE(ResolvePath(top_ + "/real/file"));
  ASSERT_EQ(chmod((top_ + "/real").c_str(), 0700), 0);
  EXPECT_TRUE(ResolvePath(top_ + "/real/file"));
}

}  // namespace
}  // namespace cordon::sys
