#include <gmock/gmock.h>

#include "cordon/guard.h"

namespace cordon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

TEST(PublicGuardTest, Paths) {
  PathQuestion question{.root = "/tmp"};
  EXPECT_EQ(CheckPath(question, "a/../b").path, "/tmp/b");
  EXPECT_TRUE(CheckPath(question, "SOUL.md").allowed);
  EXPECT_EQ(CheckPath(question, "../b").reason, Reason::kPathOutside);
  question.use = PathQuestion::Use::kWrite;
  EXPECT_TRUE(CheckPath(question, "b").allowed);
  EXPECT_EQ(CheckPath(question, "SOUL.md").reason, Reason::kPathProtected);
  question.identity_files.clear();
  EXPECT_TRUE(CheckPath(question, "SOUL.md").allowed);
  EXPECT_FALSE(CheckPath({}, "relative").allowed);
}

TEST(PublicGuardTest, Urls) {
  EXPECT_TRUE(CheckUrl("https://example.com/").allowed);
  EXPECT_EQ(CheckUrl("http://localhost/").reason, Reason::kAddressDenied);
  EXPECT_EQ(CheckUrl("ftp://example.com/").reason, Reason::kRequestInvalid);
  EXPECT_EQ(CheckAddresses("https://example.com/", {"8.8.8.8"}).address, "8.8.8.8");
  EXPECT_FALSE(CheckAddresses("https://example.com/", {"8.8.8.8", "::1"}).allowed);
  EXPECT_FALSE(CheckAddresses("https://example.com/", {"0x7f.1"}).allowed);
  EXPECT_FALSE(CheckAddresses("http://localhost/", {"8.8.8.8"}).allowed);
}

TEST(PublicGuardTest, VariablesAndCommands) {
  EXPECT_TRUE(CheckVariable("FOO", "x").allowed);
  EXPECT_EQ(CheckVariable("PATH", "x").reason, Reason::kVariableDenied);
  CommandAnswer answer = CheckCommand("ls a | rm b");
  EXPECT_EQ(answer.effect, "destructive");
  EXPECT_EQ(answer.reason, Reason::kCommandEffect);
  EXPECT_THAT(answer.commands, ElementsAre("ls a", "rm b"));
  EXPECT_TRUE(CheckCommand("ls").allowed);
  EXPECT_TRUE(CheckCommand("ls").simple);
}

TEST(PublicGuardTest, Texts) {
  EXPECT_TRUE(CheckText("nothing here").allowed);
  std::string token = "gh" + std::string("p_k3Jx9QmZ2vR8tLw5Nc7Ya1Bf4Hs6Du0EoPgV");
  TextAnswer answer = CheckText("a " + token + " b");
  EXPECT_FALSE(answer.allowed);
  ASSERT_EQ(answer.leaks.size(), 1u);
  EXPECT_EQ(answer.leaks[0].begin, 2u);
  EXPECT_THAT(answer.redacted, AllOf(StartsWith("a [REDACTED:"), EndsWith("] b")));
}

}  // namespace
}  // namespace cordon
