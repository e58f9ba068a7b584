#include "guard/path_guard.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cordon::guard {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kData = "/home/u/.omega";

// The table of the first seed, by the names of its tests; the fourteenth, that the
// protected command runs, is what preset `protect` does.
TEST(WriteBlockedTest, DataDir) {
  EXPECT_TRUE(IsWriteBlocked("/home/u/.omega/data/memory.db", kData));
  EXPECT_TRUE(IsWriteBlocked("/home/u/.omega/data", kData));
  EXPECT_FALSE(IsWriteBlocked("/home/u/.omega/database", kData));
}
TEST(WriteBlockedTest, AllowsWorkspace) {
  EXPECT_FALSE(IsWriteBlocked("/home/u/.omega/workspace/a.py", kData));
  EXPECT_FALSE(IsWriteBlocked("/home/u/.omega/skills/x/SKILL.md", kData));
}
TEST(WriteBlockedTest, SystemDirs) {
  for (const char* path : {"/System/x", "/bin/ls", "/sbin/init", "/usr/bin/env", "/usr/sbin/x",
                           "/usr/lib/x", "/usr/libexec/x", "/private/etc/hosts", "/Library/x",
                           "/etc/passwd", "/boot/vmlinuz", "/proc/1/mem", "/sys/x", "/dev/sda"}) {
    EXPECT_TRUE(IsWriteBlocked(path, kData)) << path;
  }
}
TEST(WriteBlockedTest, AllowsNormalPaths) {
  EXPECT_FALSE(IsWriteBlocked("/tmp/x", kData));
  EXPECT_FALSE(IsWriteBlocked("/home/u/project/a.c", kData));
  EXPECT_FALSE(IsWriteBlocked("/usr/local/share/x", kData));
}
TEST(WriteBlockedTest, NoStringPrefixFalsePositive) {
  EXPECT_FALSE(IsWriteBlocked("/binaries/test", kData));
  EXPECT_FALSE(IsWriteBlocked("/etcetera", kData));
}
TEST(WriteBlockedTest, RelativePath) {
  EXPECT_TRUE(IsWriteBlocked("a.txt", kData));
  EXPECT_TRUE(IsWriteBlocked("../../etc/passwd", kData));
  EXPECT_TRUE(IsWriteBlocked("", kData));
}
TEST(WriteBlockedTest, ConfigToml) {
  EXPECT_TRUE(IsWriteBlocked("/home/u/.omega/config.toml", kData));
  EXPECT_TRUE(IsWriteBlocked("/srv/omega.toml", kData, "/srv/omega.toml"));
  EXPECT_FALSE(IsWriteBlocked("/home/u/.omega/config.toml.bak", kData));
}
TEST(ReadBlockedTest, DataDir) {
  EXPECT_TRUE(IsReadBlocked("/home/u/.omega/data/memory.db", kData));
  EXPECT_TRUE(IsReadBlocked("/home/u/../u/.omega//data/./x", kData));
}
TEST(ReadBlockedTest, Config) { EXPECT_TRUE(IsReadBlocked("/home/u/.omega/config.toml", kData)); }
TEST(ReadBlockedTest, ExternalConfig) {
  EXPECT_TRUE(IsReadBlocked("/srv/omega.toml", kData, "/srv/omega.toml"));
  EXPECT_FALSE(IsReadBlocked("/srv/other.toml", kData, "/srv/omega.toml"));
  EXPECT_FALSE(IsReadBlocked("/srv/omega.toml", kData));
}
TEST(ReadBlockedTest, AllowsWorkspace) {
  EXPECT_FALSE(IsReadBlocked("/home/u/.omega/workspace/a.py", kData));
  EXPECT_FALSE(IsReadBlocked("/home/u/.omega/skills/x/SKILL.md", kData));
  EXPECT_FALSE(IsReadBlocked("/etc/passwd", kData));
}
TEST(ReadBlockedTest, AllowsStores) {
  EXPECT_FALSE(IsReadBlocked("/home/u/.omega/stores/trading.db", kData));
}
TEST(ReadBlockedTest, RelativePath) { EXPECT_TRUE(IsReadBlocked("data/memory.db", kData)); }

class PathGuardTest : public testing::Test {
 protected:
  PathGuardTest() {
    char name[] = "/tmp/cordon-guard-XXXXXX";
    top_ = mkdtemp(name);
    for (const char* directory : {"/agent/data/deep", "/agent/workspace", "/ws/dir", "/ws-evil"}) {
      fs::create_directories(top_ + directory);
    }
    Put("/agent/data/memory.db");
    Put("/agent/config.toml");
    Put("/ws/a.txt");
  }
  ~PathGuardTest() override { fs::remove_all(top_); }

  void Put(const std::string& name) { std::ofstream(top_ + name) << "x"; }
  void Link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, top_ + name);
  }
  bool Blocked(const std::string& path) {
    bool read = IsReadBlocked(top_ + path, top_ + "/agent");
    EXPECT_EQ(IsWriteBlocked(top_ + path, top_ + "/agent"), read) << path;
    return read;
  }
  PathDecision InRoot(const std::string& path, PathUse use = PathUse::kRead) {
    PathRules rules;
    rules.root = top_ + "/ws";
    rules.identity_files = DefaultIdentityFiles();
    return CheckPath(rules, path, use);
  }

  std::string top_;
};

TEST_F(PathGuardTest, LinksDoNotLeadPastTheBlocklist) {
  Link("../agent", "/ws/to_agent");
  Link("../agent/data/new", "/ws/dangling");
  Link("/", "/ws/top");
  EXPECT_TRUE(Blocked("/ws/to_agent/data/memory.db"));
  EXPECT_TRUE(Blocked("/ws/to_agent/data/new/file"));
  EXPECT_TRUE(Blocked("/ws/to_agent/config.toml"));
  EXPECT_TRUE(Blocked("/ws/dangling"));
  EXPECT_TRUE(Blocked("/ws/top" + top_ + "/agent/data/x"));
  EXPECT_FALSE(Blocked("/ws/to_agent/workspace/x"));
  EXPECT_TRUE(IsReadBlocked("/proc/self/root" + top_ + "/agent/data/x", top_ + "/agent"));
}

TEST_F(PathGuardTest, TheDataDirItselfMayBeALink) {
  Link("agent", "/alias");
  EXPECT_TRUE(IsReadBlocked(top_ + "/agent/data/memory.db", top_ + "/alias"));
  EXPECT_TRUE(IsReadBlocked(top_ + "/alias/data/memory.db", top_ + "/agent"));
  EXPECT_FALSE(IsReadBlocked(top_ + "/agent/workspace/x", top_ + "/alias"));
}

TEST_F(PathGuardTest, HardLinksAreTheSameFile) {
  fs::create_hard_link(top_ + "/agent/config.toml", top_ + "/ws/config");
  fs::create_hard_link(top_ + "/agent/data/memory.db", top_ + "/ws/memory");
  fs::create_hard_link(top_ + "/ws/a.txt", top_ + "/ws/b.txt");
  EXPECT_TRUE(Blocked("/ws/config"));
  EXPECT_TRUE(Blocked("/ws/memory"));
  EXPECT_FALSE(Blocked("/ws/b.txt"));
  EXPECT_TRUE(InRoot("b.txt").hard_linked);
  EXPECT_FALSE(InRoot("dir").hard_linked);
}

TEST_F(PathGuardTest, CaseIsIgnoredWhereAsked) {
  PathRules rules;
  rules.data_dir = top_ + "/agent";
  EXPECT_TRUE(CheckPath(rules, top_ + "/agent/Config.TOML", PathUse::kRead).allowed);
  rules.names = NameCase::kIgnore;
  EXPECT_FALSE(CheckPath(rules, top_ + "/agent/Config.TOML", PathUse::kRead).allowed);
  EXPECT_FALSE(CheckPath(rules, top_ + "/AGENT/Data/x", PathUse::kRead).allowed);
  EXPECT_TRUE(CheckPath(rules, top_ + "/AGENT/Database", PathUse::kRead).allowed);
}

TEST_F(PathGuardTest, StaysInsideTheRoot) {
  Link("..", "/ws/dir/up");
  Link("../..", "/ws/dir/up2");
  Link("loop", "/ws/loop");
  for (const char* path : {"a.txt", ".", "dir/../a.txt", "new/deep/file", "..a/b", "~/x",
                           "dir/up/a.txt", "%2e%2e/x", "..\\..\\x", "-rf", "file:///etc/passwd"}) {
    EXPECT_TRUE(InRoot(path).allowed) << path;
  }
  EXPECT_TRUE(InRoot(top_ + "/ws").allowed);
  for (const char* path : {"..", "dir/../../x", "/etc/passwd", "//etc/passwd", "dir/up/../x",
                           "dir/up2/x", "dir/up2/ws-evil", "/proc/self/cwd/x", "/dev/fd/0"}) {
    EXPECT_EQ(InRoot(path).reason, Reason::kPathOutside) << path;
  }
  EXPECT_FALSE(InRoot(top_ + "/ws-evil/x").allowed);
  for (const std::string& path :
       {std::string(), std::string("a\0b", 3), std::string("loop"), std::string(300, 'x')}) {
    EXPECT_EQ(InRoot(path).reason, Reason::kPathInvalid);
  }
}

TEST_F(PathGuardTest, IdentityFilesAreReadAndNotWritten) {
  Link("soul.MD", "/ws/other");
  for (const char* path : {"SOUL.md", "dir/soul.md", "User.MD", "new/IDENTITY.md", "other"}) {
    EXPECT_TRUE(InRoot(path).allowed) << path;
    EXPECT_EQ(InRoot(path, PathUse::kWrite).reason, Reason::kPathProtected) << path;
  }
  EXPECT_TRUE(InRoot("SOUL.md.txt", PathUse::kWrite).allowed);
  EXPECT_TRUE(InRoot("SOUL.md/x", PathUse::kWrite).allowed);
  EXPECT_TRUE(IsIdentityFile("/w/soul.md/"));
  EXPECT_FALSE(IsIdentityFile("/w/soul"));
  EXPECT_TRUE(IsIdentityFile("/w/agent.txt", {"AGENT.TXT"}));
  EXPECT_FALSE(IsIdentityFile("/w/SOUL.md", {"AGENT.TXT"}));
}

TEST(DangerousSystemPathTest, WideTargets) {
  for (const char* text : {"/", "//", "/..", "/usr", "/tmp", "/home/", "*", "/x/*", "src/*", "~",
                           "/home/u", "/home/u/", "/home/./u"}) {
    EXPECT_TRUE(IsDangerousSystemPath(text, "/home/u")) << text;
  }
  for (const char* text : {"/usr/local", "/home/u/x", "x", "/tmp/x", "*.o", "/home/v"}) {
    EXPECT_FALSE(IsDangerousSystemPath(text, "/home/u")) << text;
  }
}

TEST(FullyDeniedTest, OwnStateWhateverTheHome) {
  for (const char* path :
       {"/home/u/.local/state/cordon", "/home/u/.local/state/cordon/trust",
        "/root/.config/cordon/policy.toml", "/.config/cordon",
        "/proc/self/root/home/u/.config/cordon/x", "/h/.config/../.config/cordon"}) {
    EXPECT_TRUE(IsFullyDenied(path)) << path;
  }
  for (const char* path : {"/home/u/.config/cordonish", "/home/u/.config", "/x.config/cordon",
                           "/home/u/.config/Cordon"}) {
    EXPECT_FALSE(IsFullyDenied(path)) << path;
  }
  EXPECT_TRUE(IsFullyDenied("/home/u/.config/Cordon", NameCase::kIgnore));
  EXPECT_TRUE(IsReadBlocked("/home/u/.local/state/cordon/trust", ""));
}

TEST(IsInsideTest, InEitherCase) {
  EXPECT_TRUE(IsInside("/A/b", "/a", NameCase::kIgnore));
  EXPECT_FALSE(IsInside("/A/b", "/a", NameCase::kExact));
  EXPECT_FALSE(IsInside("/Ab", "/a", NameCase::kIgnore));
}

}  // namespace
}  // namespace cordon::guard
