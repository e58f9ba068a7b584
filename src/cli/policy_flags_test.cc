#include "cli/policy_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/policy_file.h"

namespace cordon::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A home, a workspace and an administrator's file of our own.
class PolicyFlagsTest : public ::testing::Test {
 protected:
  PolicyFlagsTest() {
    char pattern[] = "/tmp/cordon_policy_test.XXXXXX";
    root_ = fs::canonical(mkdtemp(pattern));
    fs::create_directories(root_ / "home/.config/cordon");
    fs::create_directories(root_ / "ws");
    fs::create_directories(root_ / "other");
    setenv("HOME", (root_ / "home").c_str(), 1);
    unsetenv("XDG_STATE_HOME");
    places_.admin_file = root_ / "admin.toml";
  }
  ~PolicyFlagsTest() override { fs::remove_all(root_); }

  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::string path = root_ / name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  Result<LoadedPolicy> Load(std::vector<std::string> arguments = {}) {
    PolicyFlags flags;
    Arguments words("test", "", "");
    AddPolicyFlags(words, flags);
    arguments.insert(arguments.begin(), "--workspace=" + (root_ / "ws").string());
    EXPECT_FALSE(words.Parse(arguments).has_value());
    return LoadPolicy(flags, places_);
  }

  // Loads, lets `change` happen, and loads again as a run does.
  Result<LoadedPolicy> Again(std::vector<std::string> files, const std::function<void()>& change) {
    PolicyFlags flags{.files = std::move(files), .workspace = root_ / "ws"};
    auto first = LoadPolicy(flags, places_);
    if (!first) return first;
    change();
    return LoadPolicyAgain(flags, *first, places_);
  }

  TrustStore Store() { return TrustStore::InState(root_ / "home", ""); }

  fs::path root_;
  PolicyPlaces places_;
};

bool Has(const PathRules& rules, const std::string& path) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const PathRule& rule) { return rule.path == path; });
}

TEST_F(PolicyFlagsTest, EveryFlagReachesItsKey) {
  auto loaded = Load({"--read",     "/r",
                      "--read=/r2", "--write",
                      "sub",        "--deny-read",
                      ".env",       "--deny-write",
                      "*.lock",     "--net",
                      "open",       "--allow-domain",
                      "a.com",      "--deny-domain",
                      "b.com",      "--allow-unix",
                      "/s",         "--publish",
                      "80",         "--host-port",
                      "5432",       "--env",
                      "CI=1",       "--env",
                      "MINE",       "--timeout",
                      "3",          "--memory",
                      "512MiB",     "--processes",
                      "256",        "--output",
                      "50kB",       "--require",
                      "fs",         "--on-unavailable",
                      "warn",       "--preset",
                      "strict"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Policy& policy = loaded->policy;
  EXPECT_TRUE(Has(policy.fs.read, "/r") && Has(policy.fs.read, "/r2"));
  EXPECT_FALSE(Has(policy.fs.read, "/"));
  EXPECT_TRUE(Has(policy.fs.write, root_ / "ws/sub"));
  EXPECT_TRUE(Has(policy.fs.deny_read, root_ / "ws/**/.env"));
  EXPECT_TRUE(Has(policy.fs.deny_write, root_ / "ws/**/*.lock"));
  EXPECT_EQ(policy.net.mode, NetMode::kOpen);
  EXPECT_EQ(policy.net.allow.at(0).text, "a.com");
  EXPECT_EQ(policy.net.deny.at(0).text, "b.com");
  EXPECT_TRUE(Has(policy.net.unix_sockets, "/s"));
  EXPECT_EQ(policy.net.publish, std::vector<int>{80});
  EXPECT_EQ(policy.net.host_ports, std::vector<int>{5432});
  EXPECT_EQ(policy.env.set.at("CI"), "1");
  EXPECT_EQ(policy.env.pass.back().text, "MINE");
  EXPECT_EQ(policy.limits.wall_ms, 3000u);
  EXPECT_EQ(policy.limits.memory, 512ull << 20);
  EXPECT_EQ(policy.limits.processes, 256u);
  EXPECT_EQ(policy.limits.output, 50000u);
  EXPECT_EQ(policy.require.at(0).text, "fs");
  EXPECT_EQ(policy.on_unavailable, OnUnavailable::kWarn);
}

TEST_F(PolicyFlagsTest, AllTheFilesAreLayers) {
  Write("admin.toml", "[limits]\nprocesses = 7\n");
  Write("home/.config/cordon/policy.toml", "[limits]\nprocesses = 9\nopen_files = 9\n");
  Write("ws/.cordon.toml", "[limits]\nwall = 5\n[net]\nmode = \"open\"\n");
  std::string file = Write("other/p.json", "{\"limits\": {\"open_files\": 8}}");
  auto loaded = Load({"--policy", file});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->policy.limits.processes, 7u);
  EXPECT_EQ(loaded->policy.limits.open_files, 8u);
  EXPECT_EQ(loaded->policy.limits.wall_ms, 5000u);
  EXPECT_EQ(loaded->policy.net.mode, NetMode::kProxy);
}

TEST_F(PolicyFlagsTest, ATrustedWorkspaceFileExtendsUntilItChanges) {
  std::string text = "[net]\nmode = \"open\"\n";
  std::string file = Write("ws/.cordon.toml", text);
  ASSERT_TRUE(Store().Trust(file, text));
  EXPECT_EQ(Load()->policy.net.mode, NetMode::kOpen);
  Write("ws/.cordon.toml", text + "[exec]\nnesting = true\n");
  EXPECT_EQ(Load()->policy.net.mode, NetMode::kProxy);
  Write("ws/.cordon.toml", text);
  ASSERT_TRUE(Store().Revoke(file));
  EXPECT_EQ(Load()->policy.net.mode, NetMode::kProxy);
}

TEST_F(PolicyFlagsTest, AFileInsideAWritableRootNeedsTrust) {
  std::string text = "[fs]\nwrite = { only = [] }\n";
  std::string file = Write("ws/p.toml", text);
  auto loaded = Load({"--policy", file});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().reason, Reason::kPolicyUntrusted);
  EXPECT_THAT(loaded.error().hint, HasSubstr("cordon policy trust"));
  fs::create_symlink(file, root_ / "other/link.toml");
  EXPECT_FALSE(Load({"--policy", root_ / "other/link.toml"}));
  ASSERT_TRUE(Store().Trust(file, text));
  EXPECT_TRUE(Load({"--policy", file}));
  EXPECT_TRUE(Load({"--policy", root_ / "other/link.toml"}));
}

TEST_F(PolicyFlagsTest, AFileThatMakesItsOwnPlaceWritableNeedsTrust) {
  std::string file =
      Write("other/p.toml", "[fs]\nwrite = [\"" + (root_ / "other").string() + "\"]\n");
  EXPECT_EQ(Load({"--policy", file}).error().reason, Reason::kPolicyUntrusted);
}

TEST_F(PolicyFlagsTest, ReadAgainItStaysBelowTheAdministrators) {
  Write("admin.toml", "[net]\nallow = [\"a.test\"]\n");
  std::string file = Write("other/p.toml", "[net]\nallow = { only = [] }\n");
  auto loaded = Again({file}, [&] {
    Write("other/p.toml", "[net]\nallow = { only = [\"a.test\", \"b.test\"] }\n");
  });
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->policy.net.allow.size(), 1u);
  EXPECT_EQ(loaded->policy.net.allow[0].text, "a.test");
}

TEST_F(PolicyFlagsTest, ReadAgainTheWorkspaceFileIsTheFirstOne) {
  Write("ws/.cordon.toml", "[net]\nmode = \"none\"\n");
  auto loaded = Again({}, [&] { fs::remove(root_ / "ws/.cordon.toml"); });
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->policy.net.mode, NetMode::kNone);
}

TEST_F(PolicyFlagsTest, ReadAgainWhatTheCommandCanWriteNeedsTrust) {
  std::string home = (root_ / "home").string();
  std::string file = Write("other/p.toml", "[fs]\nwrite = [\"" + home + "\"]\n");
  std::string user = Write("home/.config/cordon/policy.toml", "[net]\ndeny = [\"a.test\"]\n");
  EXPECT_TRUE(Again({file}, [] {}));
  auto denied = [&](const std::function<void()>& change) {
    auto loaded = Again({file}, change);
    return !loaded && loaded.error().reason == Reason::kPolicyUntrusted;
  };
  // Also if it narrows its roots or goes away.
  EXPECT_TRUE(denied([&] { Write("home/.config/cordon/policy.toml", "[fs]\nwrite = []\n"); }));
  EXPECT_TRUE(denied([&] { fs::remove(user); }));
  std::string inside = Write("ws/p.toml", "");
  ASSERT_TRUE(Store().Trust(inside, ""));
  EXPECT_FALSE(Again({inside}, [&] { Write("ws/p.toml", "[fs]\nwrite = { only = [] }\n"); }));
  ASSERT_TRUE(Store().Trust(inside, "[fs]\nwrite = { only = [] }\n"));
  EXPECT_TRUE(Again({inside}, [] {}));
}

TEST_F(PolicyFlagsTest, ReadAgainALinkLeadsWhereItLed) {
  std::string file = Write("other/p.toml", "[limits]\nprocesses = 7\n");
  std::string wider = Write("other/wider.toml", "[limits]\nprocesses = 9\n");
  fs::path link = root_ / "ws/link.toml";
  fs::create_symlink(file, link);
  auto loaded = Again({link}, [&] {
    fs::remove(link);
    fs::create_symlink(wider, link);
  });
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->policy.limits.processes, 7u);
}

TEST_F(PolicyFlagsTest, AFileThatOthersCouldHaveWrittenIsRefused) {
  for (mode_t mode : {0664, 0646, 0666}) {
    std::string file = Write("other/p.toml", "", mode);
    EXPECT_EQ(Load({"--policy", file}).error().reason, Reason::kPolicyUntrusted) << mode;
  }
  Write("admin.toml", "", 0666);
  EXPECT_EQ(Load().error().reason, Reason::kPolicyUntrusted);
}

TEST_F(PolicyFlagsTest, AStrangersFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  std::string file = Write("other/p.toml", "");
  ASSERT_EQ(chown(file.c_str(), 4242, 4242), 0);
  EXPECT_EQ(Load({"--policy", file}).error().reason, Reason::kPolicyUntrusted);
}

TEST_F(PolicyFlagsTest, OddFilesAreRefusedAndDoNotHang) {
  std::string fifo = root_ / "ws/.cordon.toml";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(Load().error().reason, Reason::kPolicyUnreadable);
  fs::remove(fifo);
  fs::create_symlink("/etc/hostname", fifo);
  EXPECT_EQ(Load().error().reason, Reason::kPolicyUntrusted);
  fs::remove(fifo);
  EXPECT_EQ(Load({"--policy", root_ / "other"}).error().reason, Reason::kPolicyUnreadable);
  EXPECT_EQ(Load({"--policy", root_ / "missing"}).error().reason, Reason::kPolicyUnreadable);
  std::string big = Write("other/big.toml", std::string((1 << 20) + 1, '\n'));
  EXPECT_EQ(Load({"--policy", big}).error().reason, Reason::kPolicyUnreadable);
}

TEST_F(PolicyFlagsTest, AMissingWorkspaceIsAnError) {
  PolicyFlags flags{.workspace = root_ / "missing"};
  EXPECT_EQ(LoadPolicy(flags, places_).error().reason, Reason::kWorkspaceInvalid);
}

TEST_F(PolicyFlagsTest, TheStoreIsForThisUserAlone) {
  ASSERT_TRUE(Store().Trust("/a\n0000  /b", "x"));
  struct stat st = {};
  ASSERT_EQ(stat(Store().path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  EXPECT_FALSE(*Store().Trusts("/b", "x"));
  EXPECT_TRUE(*Store().Trusts("/a\n0000  /b", "x"));
  EXPECT_FALSE(*Store().Trusts("/a\n0000  /b", "y"));
}

TEST(Sha256, IsTheStandardOne) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace cordon::cli
