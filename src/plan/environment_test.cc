#include "plan/environment.h"

#include <gmock/gmock.h>

namespace cordon::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

Environment Make(const EnvPolicy& policy, const std::map<std::string, std::string>& caller,
                 TempMode temp = TempMode::kNone, std::string cache = {}) {
  return MakeEnvironment({.policy = policy,
                          .caller = caller,
                          .directory = "/w",
                          .cache_directory = std::move(cache),
                          .temp = temp});
}

TEST(MakeEnvironment, CleanPassesAFewAndWhatIsListed) {
  EnvPolicy policy;
  policy.pass = {{"WANTED", {}}};
  Environment made =
      Make(policy, {{"HOME", "/h"}, {"TOKEN", "t"}, {"WANTED", "w"}, {"LC_ALL", "C"}});
  EXPECT_THAT(made.variables, Contains("HOME=/h"));
  EXPECT_THAT(made.variables, Contains("WANTED=w"));
  EXPECT_THAT(made.variables, Contains("LC_ALL=C"));
  EXPECT_THAT(made.variables, Not(Contains("TOKEN=t")));
}

TEST(MakeEnvironment, DangerousNamesAreDroppedInEveryMode) {
  for (EnvMode mode : {EnvMode::kClean, EnvMode::kInherit}) {
    EnvPolicy policy{.mode = mode};
    Environment made =
        Make(policy, {{"LD_PRELOAD", "x"}, {"BASH_FUNC_a%%", "x"}, {"PYTHONPATH", "x"}});
    EXPECT_THAT(made.variables, Not(Contains(StartsWith("LD_PRELOAD="))));
    EXPECT_THAT(made.dropped, ElementsAre("BASH_FUNC_a%%", "LD_PRELOAD", "PYTHONPATH"));
  }
}

TEST(MakeEnvironment, WhatTheAuthorSetsIsTaken) {
  EnvPolicy policy;
  policy.set = {{"LD_PRELOAD", "/mine.so"}, {"PWD", "/elsewhere"}};
  Environment made = Make(policy, {{"LD_PRELOAD", "/theirs.so"}});
  EXPECT_THAT(made.variables, Contains("LD_PRELOAD=/mine.so"));
  EXPECT_THAT(made.variables, Contains("PWD=/elsewhere"));
}

TEST(MakeEnvironment, PathHasNoRelativeEntry) {
  EXPECT_THAT(Make({}, {{"PATH", ".:/a::b/c:/d:"}}).variables, Contains("PATH=/a:/d"));
  EXPECT_THAT(Make({}, {{"PATH", "."}}).variables, Contains(StartsWith("PATH=/usr")));
  EXPECT_THAT(Make({}, {}).variables, Contains(StartsWith("PATH=/usr")));
}

TEST(MakeEnvironment, PrivateTempAndCaches) {
  Environment made =
      Make({}, {{"TMPDIR", "/host"}, {"TMP", "/host"}}, TempMode::kPrivate, "/cache");
  EXPECT_THAT(made.variables, Contains("TMPDIR=/tmp"));
  EXPECT_THAT(made.variables, Not(Contains("TMP=/host")));
  EXPECT_THAT(made.variables, Contains("XDG_CACHE_HOME=/cache"));
}

TEST(MakeEnvironment, NamesThatAreNoneAreDropped) {
  Environment made = Make({.mode = EnvMode::kInherit}, {{"", "x"}, {"A=B", "x"}, {"ok", "x"}});
  EXPECT_THAT(made.variables, Contains("ok=x"));
  EXPECT_THAT(made.variables, Not(Contains("=x")));
}

}  // namespace
}  // namespace cordon::plan
