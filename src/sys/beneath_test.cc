#include "sys/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cordon::sys {
namespace {

namespace fs = std::filesystem;

class BeneathTest : public testing::Test {
 protected:
  BeneathTest() {
    char name[] = "/tmp/cordon-beneath-XXXXXX";
    top_ = mkdtemp(name);
    fs::create_directories(top_ / "root/dir");
    fs::create_directories(top_ / "root-evil");
    Put("root/a.txt", "inside");
    Put("outside.txt", "outside");
    Put("root-evil/x", "outside");
    root_ = std::move(*OpenRoot(top_ / "root"));
  }
  ~BeneathTest() override { fs::remove_all(top_); }

  void Put(const std::string& name, std::string_view text) { std::ofstream(top_ / name) << text; }
  std::string Get(const std::string& name) {
    std::ifstream file(top_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, top_ / name);
  }
  mode_t Mode(const std::string& name) {
    struct stat status{};
    EXPECT_EQ(lstat((top_ / name).c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  size_t Entries(const std::string& name) {
    return static_cast<size_t>(std::distance(fs::directory_iterator(top_ / name), {}));
  }
  Result<std::string> Read(const std::string& path, size_t most = 1000) {
    return ReadBeneath(root_.get(), path, most);
  }
  Reason WhyNot(const std::string& path) {
    Result<std::string> read = Read(path);
    return read ? Reason::kInternal : read.error().reason;
  }

  fs::path top_;
  UniqueFd root_;
};

TEST_F(BeneathTest, ReadsWhatLiesInside) {
  EXPECT_EQ(Read("a.txt"), "inside");
  EXPECT_EQ(Read("./dir/../a.txt"), "inside");
  EXPECT_EQ(Read("dir//..//a.txt"), "inside");
}

TEST_F(BeneathTest, RefusesWhatLeadsOut) {
  Link("../outside.txt", "root/out");
  Link((top_ / "outside.txt").string(), "root/absolute");
  Link("..", "root/dir/up");
  Link("/proc/self/root", "root/proc");
  Link("../dir", "root/dir/in");
  for (std::string path :
       {"../outside.txt", "dir/../../outside.txt", "out", "absolute", "dir/up/../outside.txt",
        "proc/etc/passwd", "/etc/passwd", "..", "../root-evil/x", "../root/a.txt"}) {
    EXPECT_EQ(WhyNot(path), Reason::kPathOutside) << path;
    Status written = WriteBeneath(root_.get(), path, "x");
    EXPECT_FALSE(written) << path;
  }
  EXPECT_EQ(Read("dir/in/../a.txt"), "inside");
  EXPECT_EQ(Get("outside.txt"), "outside");
}

TEST_F(BeneathTest, RefusesWhatIsNoPath) {
  Link("loop", "root/loop");
  EXPECT_EQ(WhyNot("loop"), Reason::kPathInvalid);
  EXPECT_EQ(WhyNot(""), Reason::kPathInvalid);
  EXPECT_EQ(WhyNot(std::string("a.txt\0x", 7)), Reason::kPathInvalid);
  EXPECT_EQ(WhyNot(std::string(300, 'x')), Reason::kPathInvalid);
  EXPECT_FALSE(WriteBeneath(root_.get(), "loop", "x"));
  EXPECT_FALSE(WriteBeneath(root_.get(), std::string("a.txt\0x", 7), "x"));
  Result<std::string> missing = Read("missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

TEST_F(BeneathTest, ReadsRegularFilesOnly) {
  ASSERT_EQ(mkfifo((top_ / "root/pipe").c_str(), 0600), 0);
  EXPECT_EQ(WhyNot("pipe"), Reason::kFileType);  // and does not wait for a writer
  EXPECT_EQ(WhyNot("dir"), Reason::kFileType);
  EXPECT_EQ(WhyNot("."), Reason::kFileType);
  Status written = WriteBeneath(root_.get(), "pipe", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().reason, Reason::kFileType);
  EXPECT_FALSE(WriteBeneath(root_.get(), "dir", "x"));
  EXPECT_FALSE(WriteBeneath(root_.get(), "dir/", "x"));
  EXPECT_FALSE(WriteBeneath(root_.get(), "dir/..", "x"));
}

TEST_F(BeneathTest, TheSizeIsCappedBeforeReading) {
  Put("root/ten", "0123456789");
  EXPECT_EQ(Read("ten", 10), "0123456789");
  Result<std::string> read = Read("ten", 9);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().reason, Reason::kFileTooLarge);
  Put("root/empty", "");
  EXPECT_EQ(Read("empty", 0), "");
  std::string large(300'000, 'x');
  Put("root/large", large);
  EXPECT_EQ(Read("large", large.size()), large);
}

TEST_F(BeneathTest, ReadsFilesThatDoNotTellTheirSize) {
  Result<UniqueFd> proc = OpenRoot("/proc");
  ASSERT_TRUE(proc);
  Result<std::string> status = ReadBeneath(proc->get(), "version", 10'000);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_NE(*status, "");
  EXPECT_FALSE(ReadBeneath(proc->get(), "version", 5));
}

TEST_F(BeneathTest, WritesNewAndOld) {
  ASSERT_TRUE(WriteBeneath(root_.get(), "dir/new", "one"));
  EXPECT_EQ(Get("root/dir/new"), "one");
  ASSERT_TRUE(WriteBeneath(root_.get(), "dir/new", "two"));
  EXPECT_EQ(Get("root/dir/new"), "two");
  EXPECT_EQ(Entries("root/dir"), 1u);
  EXPECT_FALSE(WriteBeneath(root_.get(), "missing/new", "x"));
}

TEST_F(BeneathTest, WritingKeepsTheMode) {
  for (mode_t mode : {0600, 0755, 0640}) {
    ASSERT_EQ(chmod((top_ / "root/a.txt").c_str(), mode), 0);
    ASSERT_TRUE(WriteBeneath(root_.get(), "a.txt", "x"));
    EXPECT_EQ(Mode("root/a.txt"), mode);
  }
  ASSERT_EQ(chmod((top_ / "root/a.txt").c_str(), 04755), 0);
  ASSERT_TRUE(WriteBeneath(root_.get(), "a.txt", "x"));
  EXPECT_EQ(Mode("root/a.txt"), 0755u);
  mode_t before = umask(027);
  ASSERT_TRUE(WriteBeneath(root_.get(), "fresh", "x"));
  umask(before);
  EXPECT_EQ(Mode("root/fresh"), 0640u);
}

TEST_F(BeneathTest, AFileThatMayNotBeWrittenStays) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  ASSERT_EQ(chmod((top_ / "root/a.txt").c_str(), 0444), 0);
  EXPECT_FALSE(WriteBeneath(root_.get(), "a.txt", "x"));
  EXPECT_EQ(Get("root/a.txt"), "inside");
}

TEST_F(BeneathTest, WritingFollowsALinkThatStaysInside) {
  Link("dir/target", "root/link");
  Link("../link", "root/dir/second");
  ASSERT_TRUE(WriteBeneath(root_.get(), "dir/second", "x"));
  EXPECT_EQ(Get("root/dir/target"), "x");
  EXPECT_TRUE(fs::is_symlink(top_ / "root/link"));
  Link("../made", "root/dangling");
  EXPECT_FALSE(WriteBeneath(root_.get(), "dangling", "x"));
  EXPECT_FALSE(fs::exists(top_ / "made"));
}

TEST_F(BeneathTest, AnotherHardLinkKeepsItsContents) {
  fs::create_hard_link(top_ / "outside.txt", top_ / "root/hard");
  ASSERT_TRUE(WriteBeneath(root_.get(), "hard", "x"));
  EXPECT_EQ(Get("root/hard"), "x");
  EXPECT_EQ(Get("outside.txt"), "outside");
}

TEST_F(BeneathTest, AFailedWriteLeavesNothing) {
  size_t before = Entries("root");
  auto old_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  rlimit small{.rlim_cur = 10, .rlim_max = old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Status written = WriteBeneath(root_.get(), "a.txt", std::string(100, 'x'));
  setrlimit(RLIMIT_FSIZE, &old_limit);
  signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(written);
  EXPECT_EQ(Get("root/a.txt"), "inside");
  EXPECT_EQ(Entries("root"), before);
}

TEST_F(BeneathTest, MakesDirectories) {
  ASSERT_TRUE(MakeDirectoriesBeneath(root_.get(), "p/q//r/"));
  EXPECT_TRUE(fs::is_directory(top_ / "root/p/q/r"));
  EXPECT_TRUE(MakeDirectoriesBeneath(root_.get(), "p/q"));
  EXPECT_TRUE(MakeDirectoriesBeneath(root_.get(), "."));
  EXPECT_TRUE(MakeDirectoriesBeneath(root_.get(), "p/../s"));
  EXPECT_TRUE(fs::is_directory(top_ / "root/s"));
  EXPECT_FALSE(MakeDirectoriesBeneath(root_.get(), "../s"));
  EXPECT_FALSE(MakeDirectoriesBeneath(root_.get(), "p/../../s"));
  EXPECT_FALSE(MakeDirectoriesBeneath(root_.get(), (top_ / "s").string()));
  EXPECT_FALSE(MakeDirectoriesBeneath(root_.get(), "a.txt/s"));
  EXPECT_FALSE(fs::exists(top_ / "s"));
}

}  // namespace
}  // namespace cordon::sys
