#include "backend/macos/seatbelt_profile.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "host/fake_paths.h"

namespace cordon::backend {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

// What the text is with every parameter in its place: for reading, never for use.
std::string Filled(const SeatbeltProfile& profile) {
  std::string text = profile.text;
  for (const auto& [name, value] : profile.parameters) {
    std::string param = "(param \"" + name + "\")";
    for (size_t at = text.find(param); at != std::string::npos; at = text.find(param)) {
      text.replace(at, param.size(), "\"" + value + "\"");
    }
  }
  return text;
}

std::string Golden(const std::string& name, const std::string& text) {
  const char* root = std::getenv("CORDON_SOURCE_DIR");
  std::string path = std::string(root == nullptr ? "." : root) + "/tests/data/seatbelt/" + name;
  if (std::getenv("CORDON_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  return golden.str();
}

// A Mac: /tmp, /var and /etc are links.
class SeatbeltTest : public testing::Test {
 protected:
  SeatbeltTest() {
    paths_.Directory("/private/tmp").Directory("/private/var/tmp").Directory("/private/etc");
    paths_.Link("/tmp", "private/tmp").Link("/var", "private/var").Link("/etc", "private/etc");
    paths_.Directory("/Users/me/w/.git/hooks").File("/Users/me/w/.git/config");
    paths_.Directory("/usr/bin").Directory("/System").Directory("/Library").Directory("/bin");
    policy_.fs.read = {{.path = "/"}};
    policy_.fs.write = {{.path = "/Users/me/w"}};
    policy_.fs.temp = TempMode::kPrivate;
  }
  Result<SeatbeltProfile> Make() {
    Result<plan::Plan> plan = plan::MakePlan({.policy = policy_,
                                              .facts = facts_,
                                              .probe = paths_,
                                              .command = {{"claude"}, "/Users/me/w"},
                                              .workspace = "/Users/me/w"});
    if (!plan) return std::unexpected(plan.error());
    return MakeSeatbeltProfile(*plan, options_);
  }
  // Preset protect, as the policy has it.
  void Protect() {
    policy_.fs.write = {{.path = "/"}};
    policy_.fs.temp = TempMode::kShared;
    policy_.net.mode = NetMode::kOpen;
    for (const char* path : {"/System", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib",
                             "/usr/libexec", "/private/etc", "/Library", "/etc", "/dev"}) {
      policy_.fs.deny_write.push_back({.path = path, .optional = true});
    }
    policy_.fs.data_dir = {.path = "/Users/me/.omega"};
  }

  host::FakePaths paths_;
  Policy policy_;
  host::Facts facts_{.landlock_abi = 7, .uid = 501, .gid = 20, .home = "/Users/me"};
  SeatbeltOptions options_{.temp = "/private/var/folders/x/T/cordon.1"};
};

TEST_F(SeatbeltTest, DeniesByDefault) {
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  EXPECT_TRUE(profile->text.starts_with("(version 1)\n(deny default)\n"));
  EXPECT_EQ(Golden("workspace.sb", Filled(*profile)), Filled(*profile));
}

TEST_F(SeatbeltTest, NoPathIsInTheText) {
  paths_.Directory("/Users/me/w)(allow default)\"");
  policy_.fs.write.push_back({.path = "/Users/me/w)(allow default)\""});
  policy_.fs.deny_new = {{.path = "/Users/me/w/**/x)\"*", .glob = true}};
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->text, Not(HasSubstr("/Users")));
  EXPECT_THAT(profile->text, Not(HasSubstr("allow default")));
  EXPECT_THAT(profile->parameters,
              Contains(Pair(testing::_, std::string("/Users/me/w)(allow default)\""))));
}

TEST_F(SeatbeltTest, OneParameterForOnePath) {
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  for (const auto& [name, value] : profile->parameters) {
    EXPECT_EQ(std::ranges::count(profile->parameters, value,
                                 &std::pair<std::string, std::string>::second),
              1)
        << value;
    EXPECT_THAT(profile->text, HasSubstr("(param \"" + name + "\")"));
  }
}

TEST_F(SeatbeltTest, AProxyIsReachedByLocalhostAndItsPortOnly) {
  policy_.net.mode = NetMode::kProxy;
  options_.proxy_port = 4242;
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->text, HasSubstr("(remote ip \"localhost:4242\")"));
  EXPECT_THAT(profile->text, Not(HasSubstr("127.0.0.1")));
  EXPECT_THAT(profile->text, Not(HasSubstr("*:*")));
  EXPECT_THAT(profile->text, Not(HasSubstr("trustd")));
}

TEST_F(SeatbeltTest, TheTrustDaemonIsForAnOpenNetworkOnly) {
  policy_.net.mode = NetMode::kOpen;
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->text, HasSubstr("com.apple.trustd.agent"));
}

TEST_F(SeatbeltTest, APrivateTempNeedsADirectory) {
  options_.temp.clear();
  EXPECT_FALSE(Make());
  policy_.fs.temp = TempMode::kNone;
  EXPECT_TRUE(Make());
}

TEST_F(SeatbeltTest, InterceptionIsRefused) {
  policy_.net.mode = NetMode::kProxy;
  policy_.net.allow = {{"api.example", {}}};
  policy_.net.tls_intercept = {{"api.example", {}}};
  paths_.File("/private/etc/ssl/cert.pem");
  Result<SeatbeltProfile> profile = Make();
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message, HasSubstr("net.tls.intercept"));
}

TEST(MacPathTest, TheLinksOfTheRootAreFollowed) {
  EXPECT_EQ(MacPath("/etc/x"), "/private/etc/x");
  EXPECT_EQ(MacPath("/tmp"), "/private/tmp");
  EXPECT_EQ(MacPath("/etcetera"), "/etcetera");
  EXPECT_EQ(MacPath("/Users/me"), "/Users/me");
}

// The tests of the blocklist that this preset comes from, by their names there.
class ProtectProfile : public SeatbeltTest {
 protected:
  ProtectProfile() { Protect(); }
};

TEST_F(ProtectProfile, AllowsByDefault) {
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  EXPECT_TRUE(profile->text.starts_with("(version 1)\n(allow default)\n"));
  EXPECT_EQ(Golden("protect.sb", Filled(*profile)), Filled(*profile));
}

TEST_F(ProtectProfile, BlocksSystemDirs) {
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  std::string text = Filled(*profile);
  for (const char* path : {"/System", "/bin", "/usr/bin", "/private/etc", "/Library"}) {
    EXPECT_THAT(text, HasSubstr("(deny file-write*\n  (subpath \"" + std::string(path) + "\""));
  }
  for (const char* missing : {"[sS][bB][iI][nN]", "[lL][iI][bB][eE][xX][eE][cC]"}) {
    EXPECT_THAT(text, HasSubstr(missing));
  }
}

TEST_F(ProtectProfile, BlocksTheDataDirAndTheConfigThatAreThere) {
  paths_.Directory("/Users/me/.omega/data").File("/Users/me/.omega/config.toml");
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  std::string text = Filled(*profile);
  EXPECT_THAT(text, HasSubstr("(subpath \"/Users/me/.omega/data\")"));
  EXPECT_THAT(text, HasSubstr("(subpath \"/Users/me/.omega/config.toml\")"));
  EXPECT_THAT(text, HasSubstr("(deny file-read* file-map-executable process-exec* file-write*\n"));
}

TEST_F(ProtectProfile, BlocksThemBeforeTheyAreThere) {
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  std::string text = Filled(*profile);
  EXPECT_THAT(text, HasSubstr("(subpath \"/Users/me/.omega/data\")"));
  EXPECT_THAT(text, HasSubstr("(subpath \"/Users/me/.omega/config.toml\")"));
}

TEST_F(ProtectProfile, AllowsUsrLocal) {
  paths_.Directory("/usr/local");
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  EXPECT_THAT(Filled(*profile), Not(HasSubstr("/usr/local")));
}

TEST_F(ProtectProfile, TheCommandIsSandboxExecByItsPath) {
  Result<SeatbeltProfile> profile = Make();
  ASSERT_TRUE(profile);
  std::vector<std::string> argv = SandboxExecArgv(*profile, {"claude", "-p", "x"});
  ASSERT_GE(argv.size(), 7u);
  EXPECT_EQ(argv[0], "/usr/bin/sandbox-exec");
  EXPECT_THAT(std::vector(argv.end() - 5, argv.end()),
              testing::ElementsAre(profile->text, "--", "claude", "-p", "x"));
}

}  // namespace
}  // namespace cordon::backend
