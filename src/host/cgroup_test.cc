#include "host/cgroup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cordon::host {
namespace {

class CgroupTest : public testing::Test {
 protected:
  CgroupTest() {
    char name[] = "/tmp/cgroup_test.XXXXXX";
    root_ = mkdtemp(name);
  }
  ~CgroupTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
};

TEST_F(CgroupTest, Version2BelowOneselfOnlyWhereControllersArePassedOn) {
  Write("a/b/cgroup.procs", "");
  Write("a/b/cgroup.subtree_control", "cpu memory pids\n");
  CgroupHome home = FindCgroupHome(root_, "0::/a/b\n");
  EXPECT_EQ(home, (CgroupHome{2, root_ + "/a/b", root_ + "/a/b"}));
  Write("a/b/cgroup.subtree_control", "cpu pids\n");
  EXPECT_EQ(FindCgroupHome(root_, "0::/a/b\n").version, 0);
}

TEST_F(CgroupTest, Version2BesideOneself) {
  Write("slice/own.scope/cgroup.procs", "");
  Write("slice/own.scope/cgroup.subtree_control", "\n");
  Write("slice/cgroup.procs", "");
  Write("slice/cgroup.subtree_control", "memory pids\n");
  CgroupHome home = FindCgroupHome(root_, "0::/slice/own.scope\n");
  EXPECT_EQ(home.memory, root_ + "/slice");
}

TEST_F(CgroupTest, NotBesideOneselfAtTheRoot) {
  Write("cgroup.procs", "");
  Write("cgroup.subtree_control", "\n");
  EXPECT_EQ(FindCgroupHome(root_, "0::/\n"), CgroupHome{});
}

TEST_F(CgroupTest, Version1ByController) {
  Write("memory/job/memory.limit_in_bytes", "1");
  Write("pids/cgroup.procs", "");
  CgroupHome home = FindCgroupHome(root_, "8:pids:/\n4:memory:/job\n0::/\n");
  EXPECT_EQ(home, (CgroupHome{1, root_ + "/memory/job", root_ + "/pids"}));
  // The path of another namespace is no directory here.
  EXPECT_EQ(FindCgroupHome(root_, "4:memory:/elsewhere\n"), CgroupHome{});
}

TEST_F(CgroupTest, NothingToBeHad) {
  EXPECT_EQ(FindCgroupHome(root_, ""), CgroupHome{});
  EXPECT_EQ(FindCgroupHome(root_, "nonsense\n1:\n"), CgroupHome{});
}

}  // namespace
}  // namespace cordon::host
