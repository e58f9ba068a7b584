#include "agent/tool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "agent/hook.h"
#include "agent/ignore_rules.h"
#include "agent/line_pattern.h"
#include "agent/mode.h"

namespace cordon::agent {
namespace {

using Type = Parameter::Type;

ToolInfo Example() {
  return {
      .name = "example",
      .title = "Example",
      .description = "An example",
      .parameters =
          {{.name = "text", .type = Type::kString, .need = Parameter::Need::kRequired, .doc = "d"},
           {.name = "number", .type = Type::kInteger, .doc = "d", .least = 1, .most = 10},
           {.name = "list", .type = Type::kStrings, .doc = "d"},
           {.name = "map", .type = Type::kStringMap, .doc = "d"},
           {.name = "on", .type = Type::kBoolean, .doc = "d"}},
      .effect = Effect::kLocalMutation};
}

std::string Complaint(const char* json) {
  Status checked = CheckArguments(Example(), Json::parse(json));
  return checked ? "" : checked.error().message;
}

TEST(Tool, TakesWhatTheSchemaSays) {
  EXPECT_EQ(Complaint(R"({"text": "x"})"), "");
  EXPECT_EQ(
      Complaint(R"({"text": "", "number": 10, "list": ["a"], "map": {"a": "b"}, "on": true})"), "");
  EXPECT_EQ(Complaint(R"({"text": "x", "number": 2.0})"), "");
}

TEST(Tool, RefusesAnythingElse) {
  EXPECT_NE(Complaint("[]"), "");
  EXPECT_NE(Complaint("{}"), "");
  for (const char* json : {R"({"text": 1})", R"({"text": "a\u0000b"})", R"({"text": null})",
                           R"({"text": "x", "number": 0})", R"({"text": "x", "number": 11})",
                           R"({"text": "x", "number": 1.5})", R"({"text": "x", "number": "1"})",
                           R"({"text": "x", "number": 1e300})", R"({"text": "x", "list": [1]})",
                           R"({"text": "x", "list": "a"})", R"({"text": "x", "map": {"a": 1}})",
                           R"({"text": "x", "on": "yes"})", R"({"text": "x", "other": 1})"}) {
    EXPECT_NE(Complaint(json), "") << json;
  }
  Status near = CheckArguments(Example(), Json::parse(R"({"text": "x", "nunber": 1})"));
  EXPECT_EQ(near.error().hint, "did you mean \"number\"?");
}

TEST(Tool, HasASchema) {
  Json schema = InputSchema(Example());
  EXPECT_EQ(schema["required"], Json::array({"text"}));
  EXPECT_EQ(schema["properties"]["number"]["maximum"], 10);
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(Annotations(Example())["readOnlyHint"], false);
}

TEST(IgnoreRules, FollowGit) {
  IgnoreRules rules;
  rules.Add("/w", "# a comment\n*.o\n/build\nlogs/\n!keep.o\ndoc/*.txt\n");
  auto ignored = [&](const char* path) { return rules.Ignores(path, EntryKind::kFile); };
  EXPECT_TRUE(ignored("/w/a.o"));
  EXPECT_TRUE(ignored("/w/deep/down/a.o"));
  EXPECT_FALSE(ignored("/w/keep.o"));
  EXPECT_TRUE(ignored("/w/build"));
  EXPECT_FALSE(ignored("/w/src/build"));
  EXPECT_TRUE(rules.Ignores("/w/logs", EntryKind::kDirectory));
  EXPECT_FALSE(ignored("/w/logs"));
  EXPECT_TRUE(ignored("/w/doc/a.txt"));
  EXPECT_FALSE(ignored("/w/doc/sub/a.txt"));
  EXPECT_FALSE(ignored("/w/a.c"));
  rules.Add("/w/sub", "!*.o\n");  // a deeper file has the last word
  EXPECT_FALSE(ignored("/w/sub/a.o"));
  EXPECT_TRUE(ignored("/w/a.o"));
}

TEST(LinePattern, Matches) {
  auto matches = [](const char* pattern, const char* line, Case letters = Case::kSensitive) {
    auto compiled = LinePattern::Compile(pattern, letters);
    return compiled && compiled->Matches(line);
  };
  EXPECT_TRUE(matches("fo+", "a foo"));
  EXPECT_FALSE(matches("^foo$", "a foo"));
  EXPECT_TRUE(matches(R"(\d+\s\w+)", "12 ab"));
  EXPECT_TRUE(matches("FOO", "foo", Case::kInsensitive));
  EXPECT_TRUE(matches("a|b{2}", "xbb"));
}

TEST(LinePattern, RefusesWhatCouldTakeForever) {
  for (const char* pattern : {"", "(", R"((a)\1)", "(a{500}){500}", "a{5000}"}) {
    EXPECT_FALSE(LinePattern::Compile(pattern, Case::kSensitive)) << pattern;
  }
  EXPECT_FALSE(LinePattern::Compile(std::string(2000, 'a'), Case::kSensitive));
}

TEST(Hook, AllowsDeniesAndChanges) {
  signal(SIGPIPE, SIG_IGN);  // as the program does: a hook need not read
  Json arguments = {{"command", "ls"}};
  EXPECT_EQ(*AskHook("cat >/dev/null", "shell", arguments), arguments);
  EXPECT_EQ(
      *AskHook(R"(echo '{"decision":"allow","arguments":{"command":"pwd"}}')", "shell", arguments),
      (Json{{"command", "pwd"}}));
  Result<Json> denied =
      AskHook(R"(grep -q '"tool":"shell"' && echo '{"decision":"deny","reason":"not today"}')",
              "shell", arguments);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().reason, Reason::kHookDenied);
  EXPECT_NE(denied.error().message.find("not today"), std::string::npos);
}

TEST(Hook, WhatCannotBeReadIsADenial) {
  signal(SIGPIPE, SIG_IGN);
  for (const char* hook : {"exit 1", "echo nonsense", "echo '{}'", "kill -9 $$",
                           R"(echo '{"decision":"maybe"}')", "/does/not/exist"}) {
    EXPECT_FALSE(AskHook(hook, "shell", Json::object())) << hook;
  }
}

TEST(Mode, TextsOfTheModes) {
  Policy policy;
  EXPECT_EQ(ModeOf({"workspace", "rx"}), Mode::kRx);
  EXPECT_EQ(ModeOf({"strict"}), Mode::kCustom);
  EXPECT_EQ(ConstraintText(Mode::kRwx, policy, "/w"), "");
  for (Mode mode : {Mode::kSandbox, Mode::kRx, Mode::kCustom}) {
    std::string text = ConstraintText(mode, policy, "/the/workspace");
    EXPECT_NE(text.find("/the/workspace"), std::string::npos);
    EXPECT_NE(text.find("no network"), std::string::npos);
  }
}

TEST(Mode, IntentIsNotOutcome) {
  std::vector<Enforcement> all;
  for (const char* feature : {"fs.read", "fs.write", "fs.floor", "pid", "seccomp"}) {
    all.push_back({.feature = feature, .level = Level::kFull});
  }
  EXPECT_EQ(ContainmentOf("namespaces", all), ContainmentState::kActive);
  EXPECT_EQ(ContainmentOf("none", all), ContainmentState::kDisabled);
  EXPECT_EQ(ContainmentOf("namespaces", {}), ContainmentState::kInert);
  all.pop_back();
  EXPECT_EQ(ContainmentOf("landlock", all), ContainmentState::kPartial);
}

}  // namespace
}  // namespace cordon::agent
