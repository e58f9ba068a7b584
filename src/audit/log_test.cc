#include "audit/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace cordon::audit {
namespace {

using Json = nlohmann::json;

class AuditLogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cordon-audit-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
  }
  void TearDown() override {
    std::string command = "rm -rf " + top_;
    EXPECT_EQ(system(command.c_str()), 0);
  }

  std::string Path(const std::string& name) const { return top_ + "/" + name; }

  static std::vector<std::string> Lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  static mode_t ModeOf(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  std::string top_;
};

TEST_F(AuditLogTest, IsMadeForItsOwnerAlone) {
  mode_t before = umask(0);
  auto file = OpenFile(Path("a/b/log"));
  umask(before);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(ModeOf(Path("a")), 0700U);
  EXPECT_EQ(ModeOf(Path("a/b")), 0700U);
  EXPECT_EQ(ModeOf(Path("a/b/log")), 0600U);
  EXPECT_NE(fcntl(file->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(file->get(), F_GETFL) & O_APPEND, 0);
}

TEST_F(AuditLogTest, OnlyAPlainFileWillDo) {
  ASSERT_TRUE(OpenFile(Path("plain")));
  ASSERT_EQ(symlink("plain", Path("link").c_str()), 0);
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  for (const std::string& path :
       {Path("link"), Path("fifo"), top_, std::string("/dev/null"), Path("plain/below")}) {
    auto file = OpenFile(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().reason, Reason::kAuditFailed) << path;
  }
}

TEST_F(AuditLogTest, RunsShareAFile) {
  constexpr int kEach = 500;
  auto write = [&](const std::string& run) {
    auto file = OpenFile(Path("log"));
    ASSERT_TRUE(file);
    Log log(std::move(*file), run, Log::kMostOfRun);
    auto record = [&] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(log.Record(NetEvent{.host = std::string(static_cast<size_t>(i), 'x')}));
      }
    };
    std::thread other(record);
    record();
    other.join();
    EXPECT_EQ(log.lost(), 0U);
  };
  std::thread first(write, "one"), second(write, "two");
  first.join();
  second.join();
  std::map<std::string, int> of_run;
  for (const std::string& line : Lines(Path("log"))) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object()) << line;
    ++of_run[json["run"]];
  }
  EXPECT_EQ(of_run, (std::map<std::string, int>{{"one", 2 * kEach}, {"two", 2 * kEach}}));
}

TEST_F(AuditLogTest, AFloodEndsAtTheLimitAndTheEndIsStillThere) {
  auto file = OpenFile(Path("log"));
  ASSERT_TRUE(file);
  Log log(std::move(*file), "r", /*most_bytes=*/1000);
  int kept = 0;
  for (int i = 0; i < 100; ++i) kept += log.Record(NetEvent{.host = "a.test"}) ? 1 : 0;
  EXPECT_EQ(log.lost(), static_cast<uint64_t>(100 - kept));
  EXPECT_FALSE(log.problem().empty());
  EXPECT_TRUE(log.Record(RunEnd{.lost = log.lost()}));
  std::vector<std::string> lines = Lines(Path("log"));
  ASSERT_EQ(lines.size(), static_cast<size_t>(kept) + 2);
  EXPECT_EQ(Json::parse(lines[lines.size() - 2])["kind"], "audit.full");
  EXPECT_EQ(Json::parse(lines.back())["lost"], 100 - kept);
}

TEST_F(AuditLogTest, AFileThatMayNotGrowIsAnErrorAndLaterLinesAreWhole) {
  auto file = OpenFile(Path("log"));
  ASSERT_TRUE(file);
  Log log(std::move(*file), "r", Log::kUnlimited);
  NetEvent event{.host = "a.test"};
  ASSERT_TRUE(log.Record(event));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{.rlim_cur = 200, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Status torn = log.Record(event), refused = log.Record(event);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(torn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno, EFBIG);
  EXPECT_EQ(log.lost(), 2U);
  event.host = "later.test";
  EXPECT_TRUE(log.Record(event));
  std::vector<std::string> lines = Lines(Path("log"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(Json::parse(lines[0])["name"], "a.test");
  EXPECT_TRUE(Json::parse(lines[1], nullptr, /*allow_exceptions=*/false).is_discarded());
  EXPECT_EQ(Json::parse(lines[2])["name"], "later.test");
}

TEST(AuditRunId, IsAnotherEachTime) {
  EXPECT_EQ(NewRunId().size(), 16U);
  EXPECT_NE(NewRunId(), NewRunId());
}

}  // namespace
}  // namespace cordon::audit
