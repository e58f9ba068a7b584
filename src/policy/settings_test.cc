#include "policy/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "guard/path.h"
#include "policy/compose.h"
#include "policy/layers.h"

namespace cordon::policy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Context Ctx() {
  return {.home = "/home/u",
          .workspace = "/w",
          .env = {{"PATH", "/bin"},
                  {"HOME", "/home/u"},
                  {"LANG", "C"},
                  {"AWS_REGION", "x"},
                  {"Azure_Zone", "x"},
                  {"GH_TOKEN", "x"},
                  {"1BAD", "x"}}};
}

SettingsFile Json(std::string text, std::string path = "/w/.claude/settings.json") {
  return {.text = std::move(text), .name = "settings.json", .path = std::move(path)};
}

SettingsFile Toml(std::string text, std::string path, std::string agent = "") {
  return {.text = std::move(text),
          .format = Format::kToml,
          .name = "config.toml",
          .path = std::move(path),
          .agent = std::move(agent)};
}

Imported Must(const SettingsFile& file) {
  auto imported = ImportSettings(file, Ctx());
  EXPECT_TRUE(imported) << (imported ? "" : imported.error().message);
  return imported ? *imported : Imported{};
}

Policy PolicyOf(const Imported& imported) {
  auto policy =
      Stack({.user_and_files = {{.name = imported.name, .parsed = imported.Root()}}}, Ctx());
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().message);
  return policy ? *policy : Policy{};
}

Policy Means(const SettingsFile& file) { return PolicyOf(Must(file)); }

std::string Problem(const SettingsFile& file) {
  auto imported = ImportSettings(file, Ctx());
  EXPECT_FALSE(imported);
  return imported ? "" : imported.error().message;
}

bool Matches(const PathRules& rules, std::string_view path) {
  return std::ranges::any_of(rules, [&](const PathRule& rule) {
    if (!rule.glob) return guard::IsInside(path, rule.path);
    for (std::string_view at = path; at != "/"; at = guard::Parent(at)) {
      if (guard::GlobMatch(rule.path, at)) return true;
    }
    return false;
  });
}

bool Reads(const Policy& policy, std::string_view path) {
  return Matches(policy.fs.read, path) && LeftReadable(policy.fs, path);
}

bool Writes(const Policy& policy, std::string_view path) {
  return Matches(policy.fs.write, path) && !Matches(policy.fs.deny_write, path);
}

std::vector<std::string> Texts(const Entries& entries) {
  std::vector<std::string> texts;
  for (const Entry& entry : entries) texts.push_back(entry.text);
  return texts;
}

std::vector<std::string> LostKeys(const Imported& imported) {
  std::vector<std::string> keys;
  for (const SettingsNote& note : imported.notes) {
    if (note.weight == SettingsNote::Weight::kLost) keys.push_back(note.key);
  }
  return keys;
}

std::string ReadData(const std::string& name) {
  std::ifstream in(std::string(CORDON_SOURCE_DIR) + "/tests/data/settings/" + name);
  EXPECT_TRUE(in) << name;
  return (std::stringstream() << in.rdbuf()).str();
}

struct Golden {
  const char* name;
  const char* path;
  const char* agent = "";
};

class SettingsGolden : public ::testing::TestWithParam<Golden> {
 protected:
  SettingsFile File() const {
    std::string name = GetParam().name;
    return {.text = ReadData(name),
            .format = name.ends_with(".toml") ? Format::kToml : Format::kJson,
            .name = name,
            .path = GetParam().path,
            .agent = GetParam().agent};
  }
};

TEST_P(SettingsGolden, BecomesThisPolicy) {
  EXPECT_EQ(RenderImported(Must(File())), ReadData(std::string(GetParam().name) + ".golden"));
}

TEST_P(SettingsGolden, TheTextMeansWhatTheValuesMean) {
  Imported imported = Must(File());
  auto read =
      Stack({.user_and_files = {{.name = "text", .text = RenderImported(imported)}}}, Ctx());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, PolicyOf(imported));
}

// A file with slips of the pen is refused, or its text and its values still
// mean the same.
TEST_P(SettingsGolden, MutantsAreRefusedOrRead) {
  SettingsFile file = File();
  const std::string good = file.text;
  uint32_t random = 1;
  auto next = [&](size_t below) { return (random = random * 1664525 + 1013904223) / 7 % below; };
  int read = 0;
  for (int i = 0; i < 300; ++i) {
    file.text = good;
    size_t at = next(good.size());
    if (i % 3 == 0) file.text.erase(at, 1 + next(8));
    if (i % 3 == 1) file.text[at] = "\"[]{}:,$*?~/x\n"[next(15)];
    if (i % 3 == 2) file.text.insert(at, good.substr(next(good.size()), 1 + next(20)));
    auto imported = ImportSettings(file, Ctx());
    if (!imported) {
      EXPECT_THAT(imported.error().message, HasSubstr(file.name));
      continue;
    }
    ++read;
    std::string text = RenderImported(*imported);
    auto by_text = Stack({.user_and_files = {{.name = "text", .text = text}}}, Ctx());
    auto by_values =
        Stack({.user_and_files = {{.name = file.name, .parsed = imported->Root()}}}, Ctx());
    ASSERT_EQ(by_text.has_value(), by_values.has_value()) << file.text << text;
    if (!by_text) continue;
    EXPECT_EQ(*by_text, *by_values) << text;
  }
  EXPECT_GT(read, 10);
}

INSTANTIATE_TEST_SUITE_P(All, SettingsGolden,
                         ::testing::Values(Golden{"claude.json", "/w/.claude/settings.json"},
                                           Golden{"srt.json", "/home/u/.srt-settings.json"},
                                           Golden{"agents.toml", "/srv/bot/config.toml", "main"},
                                           Golden{"mode.toml", "/srv/omega/config.toml"},
                                           Golden{"codex.toml", "/home/u/.codex/config.toml"},
                                           Golden{"cursor.json", "/w/.cursor/sandbox.json"}),
                         [](const auto& one) {
                           std::string name = one.param.name;
                           return name.substr(0, name.find('.'));
                         });

TEST(Settings, AValueSaysWhereItStands) {
  Policy policy =
      Means(Json("{\"sandbox\": {\n\"network\": {\"allowedDomains\": [\n\"x.test\"]}}}"));
  EXPECT_EQ(policy.net.allow.at(0).origin.ToString(), "settings.json:3");
}

TEST(Settings, TheKindIsSeenByNameThenByContent) {
  auto kind = [](SettingsFile file) { return Must(file).kind; };
  EXPECT_EQ(kind(Json("{}")), SettingsKind::kClaude);
  EXPECT_EQ(kind(Json("{\"sandbox\": {}}", "/x.json")), SettingsKind::kClaude);
  EXPECT_EQ(kind(Json("{\"filesystem\": {}}", "/x.json")), SettingsKind::kSrt);
  EXPECT_EQ(kind(Json("{\"networkPolicy\": {}}", "/x.json")), SettingsKind::kCursor);
  EXPECT_EQ(kind(Toml("sandbox_mode = \"read-only\"", "/x.toml")), SettingsKind::kCodex);
  EXPECT_EQ(kind(Toml("", "/home/u/.codex/config.toml")), SettingsKind::kCodex);
  EXPECT_EQ(kind(Toml("[sandbox]\nmode = \"rx\"", "/x.toml")), SettingsKind::kAgents);
  EXPECT_THAT(Problem(Json("{\"x\": 1}", "/x.json")), HasSubstr("not the settings of a tool"));
  auto ours = ImportSettings(Toml("[fs]\nread = []", "/x.toml"), Ctx());
  ASSERT_FALSE(ours);
  EXPECT_THAT(ours.error().hint, HasSubstr("--policy"));
  SettingsFile forced = Json("{\"sandbox\": {}}", "/x.json");
  forced.kind = SettingsKind::kSrt;
  EXPECT_THAT(LostKeys(Must(forced)), Contains("sandbox"));
  EXPECT_EQ(ParseSettingsKind("codex"), SettingsKind::kCodex);
  EXPECT_FALSE(ParseSettingsKind("auto"));
}

TEST(Settings, WrongTypesSayFileLineAndKey) {
  EXPECT_EQ(
      Problem(Json("{\"sandbox\": {\n\"network\": {\n\"allowedDomains\": \"x\"}}}")),
      "settings.json:3: sandbox.network.allowedDomains: expected a list of strings, got a string");
  EXPECT_EQ(Problem(Json("{\"sandbox\": 3}")),
            "settings.json:1: sandbox: expected a table, got an integer");
  EXPECT_THAT(Problem(Json("{\"filesystem\": {\"denyRead\": [7]}}", "/x.json")),
              StartsWith("settings.json:1: filesystem.denyRead: expected a string"));
  EXPECT_THAT(Problem(Json("{\"sandbox\": {\"enabled\": \"yes\"}}")), HasSubstr("sandbox.enabled"));
  EXPECT_THAT(Problem(Json("{\"sandbox\": {\"network\": {\"httpProxyPort\": 70000}}}")),
              HasSubstr("httpProxyPort"));
  EXPECT_THAT(Problem(Toml("sandbox_mode = \"readonly\"", "/x.toml")),
              HasSubstr("config.toml:1: sandbox_mode: expected read-only | workspace-write"));
  EXPECT_THAT(Problem(Toml("[[agents]]\nid = \"../x\"", "/x.toml")), HasSubstr("agents.id"));
  EXPECT_THAT(Problem(Toml("[sandbox]\nmode = \"yolo\"", "/x.toml")), HasSubstr("sandbox.mode"));
  EXPECT_THAT(Problem(Json("{\"type\": \"none\", \"networkPolicy\": {}}", "/x.json")),
              HasSubstr("settings.json:1: type"));
  EXPECT_THAT(Problem(Json("{\"sandbox\": {")), StartsWith("settings.json:1: "));
}

TEST(Settings, ADenyThatCannotBeSaidRefusesTheFile) {
  EXPECT_THAT(Problem(Json("{\"network\": {\"deniedDomains\": [\"https://x.test/\"]}}", "/x.json")),
              HasSubstr("network.deniedDomains"));
  EXPECT_THAT(Problem(Json("{\"filesystem\": {\"denyRead\": [\"~bob/x\"]}}", "/x.json")),
              HasSubstr("filesystem.denyRead"));
  EXPECT_THAT(Problem(Json("{\"networkPolicy\": {\"deny\": [\"192.0.2.0/24\"]}}", "/x.json")),
              HasSubstr("networkPolicy.deny"));
  Imported allow =
      Must(Json("{\"network\": {\"allowedDomains\": [\"https://x.test/\"]}}", "/x.json"));
  EXPECT_THAT(LostKeys(allow), Contains("network.allowedDomains"));
  EXPECT_TRUE(PolicyOf(allow).net.allow.empty());
}

TEST(Settings, UnknownKeysAreNamed) {
  Imported imported =
      Must(Json("{\"sandbox\": {\"a\": 1, \"network\": {\"b\": 2}, "
                "\"filesystem\": {\"c\": 3}}, \"theme\": \"dark\"}"));
  EXPECT_THAT(LostKeys(imported), ::testing::UnorderedElementsAre("sandbox.a", "sandbox.network.b",
                                                                  "sandbox.filesystem.c"));
  EXPECT_THAT(RenderImported(imported), HasSubstr("#   line 1, theme: "));
}

TEST(Settings, ACommentCannotBecomeAValue) {
  Imported imported = Must(Json("{\"sandbox\": {\"x\\nfs = 1\": 1}}"));
  EXPECT_THAT(RenderImported(imported), Not(HasSubstr("\nfs = 1")));
}

TEST(Settings, SrtReadsAllButWhatIsDeniedAndTheNarrowerWins) {
  Policy policy =
      Means(Json("{\"filesystem\": {\"denyRead\": [\"/home\", \"./secrets\", \"**/.env\", "
                 "\"~/both\"], \"allowRead\": [\".\", \"~/in\", \"~/both\"]}}",
                 "/x.json"));
  EXPECT_TRUE(Reads(policy, "/home/u/in/x"));
  EXPECT_TRUE(Reads(policy, "/home/u/both"));
  EXPECT_TRUE(Reads(policy, "/etc/passwd"));
  EXPECT_FALSE(Reads(policy, "/home/u/.ssh/id"));
  EXPECT_FALSE(Reads(policy, "/w/secrets/x"));
  EXPECT_FALSE(Reads(policy, "/w/a/.env"));
  EXPECT_TRUE(Reads(policy, "/w/a/x"));
  EXPECT_TRUE(policy.fs.write.empty());
}

TEST(Settings, SrtDenyWriteBeatsAllowWriteAndNoDomainIsNoNetwork) {
  Policy policy = Means(
      Json("{\"filesystem\": {\"allowWrite\": [\".\"], \"denyWrite\": [\".env\"]}}", "/x.json"));
  EXPECT_TRUE(Writes(policy, "/w/x"));
  EXPECT_TRUE(Writes(policy, "/w/sub/.env"));  // the one path, not the name
  EXPECT_FALSE(Writes(policy, "/w/.env"));
  EXPECT_FALSE(Writes(policy, "/home/u/x"));
  EXPECT_EQ(policy.net.mode, NetMode::kProxy);
  EXPECT_TRUE(policy.net.allow.empty());
  EXPECT_EQ(policy.fs.temp, TempMode::kPrivate);
  EXPECT_EQ(policy.env.mode, EnvMode::kInherit);
  EXPECT_EQ(Means(Json("{\"network\": {\"deniedDomains\": [\"*\"]}}", "/x.json")).net.mode,
            NetMode::kNone);
}

// The host's /tmp as a writable root would hold other people's directories.
TEST(Settings, TmpIsPrivateAndWhatIsBelowItIsTheHosts) {
  auto means = [](std::string paths) {
    return Means(Json("{\"filesystem\": {\"allowWrite\": [" + paths + "]}}", "/x.json"));
  };
  Policy tmp = means("\"/tmp\", \"/var/tmp/\", \"/private/tmp/**\"");
  EXPECT_TRUE(tmp.fs.write.empty());
  EXPECT_EQ(tmp.fs.temp, TempMode::kPrivate);
  EXPECT_TRUE(Writes(means("\"/tmp/build\""), "/tmp/build/x"));
  Policy all = means("\"/\"");
  EXPECT_TRUE(Writes(all, "/tmp/x"));
  EXPECT_EQ(all.fs.temp, TempMode::kShared);
}

TEST(Settings, SrtDeniesAPortOfAllHosts) {
  auto with = [](std::string denied) {
    return Json(
        "{\"network\": {\"allowedDomains\": [\"a.test\", \"a.test:22\", \"b.test:2222\"], "
        "\"deniedDomains\": [" +
            denied + "]}}",
        "/x.json");
  };
  EXPECT_THAT(Texts(Means(with("\"*:22\"")).net.allow),
              ::testing::ElementsAre("a.test", "b.test:2222"));
  EXPECT_EQ(Means(with("")).net.allow.size(), 3u);
  for (const char* denied : {"\"*:443\"", "\"*:80\"", "\"*:x\"", "\"*:\""}) {
    EXPECT_THAT(Problem(with(denied)), HasSubstr("network.deniedDomains")) << denied;
  }
}

TEST(Settings, SrtSecretsAreKeptOut) {
  Policy policy =
      Means(Json("{\"network\": {}, \"credentials\": {\"files\": [{\"path\": \"~/.netrc\", "
                 "\"mode\": \"deny\"}], "
                 "\"envVars\": [{\"name\": \"GH_TOKEN\", \"mode\": \"deny\"}]}}",
                 "/x.json"));
  EXPECT_FALSE(Reads(policy, "/home/u/.netrc"));
  EXPECT_EQ(policy.env.mode, EnvMode::kClean);
  EXPECT_THAT(Texts(policy.env.pass), Contains("LANG"));
  EXPECT_THAT(Texts(policy.env.pass), Not(Contains("GH_TOKEN")));
}

TEST(Settings, ClaudePathsMeanWhatTheyMeanThere) {
  const char* text =
      "{\"sandbox\": {\"filesystem\": {\"allowWrite\": [\"/abs\", \"//old\", \"~/home\", \"rel\", "
      "\"./dot\"]}}, \"permissions\": {\"allow\": [\"Edit(//root)\", \"Edit(/project)\", "
      "\"Edit(cwd)\"], \"deny\": [\"Read(.env)\", \"Read(/x/key)\", \"Edit(a/b)\"]}}";
  Policy project = Means(Json(text));
  for (const char* path : {"/w/x", "/abs", "/old", "/home/u/home", "/w/rel", "/w/dot", "/root/x"}) {
    EXPECT_TRUE(Writes(project, path)) << path;
  }
  EXPECT_FALSE(Writes(project, "/w/a/b"));
  EXPECT_FALSE(Reads(project, "/w/.env"));
  EXPECT_FALSE(Reads(project, "/w/deep/.env"));
  EXPECT_FALSE(Reads(project, "/w/x/key"));
  EXPECT_TRUE(Reads(project, "/w/y/key"));
  EXPECT_TRUE(Reads(project, "/home/u/.ssh/id_rsa"));  // there it is readable unless denied

  Policy user = Means(Json(text, "/home/u/.claude/settings.json"));
  EXPECT_TRUE(Writes(user, "/home/u/.claude/rel"));
  EXPECT_TRUE(Matches(user.fs.write, "/w/project"));

  Policy elsewhere = Means(Json(text, "/other/.claude/settings.local.json"));
  EXPECT_TRUE(Writes(elsewhere, "/other/rel"));
  EXPECT_TRUE(Writes(elsewhere, "/other/project"));
  EXPECT_FALSE(Writes(elsewhere, "/other/x"));
}

TEST(Settings, ClaudeScopesAddUp) {
  Imported user =
      Must(Json("{\"sandbox\": {\"filesystem\": {\"allowWrite\": [\"/u\"]}, \"network\": "
                "{\"allowedDomains\": [\"a.test\"]}}}",
                "/home/u/.claude/settings.json"));
  Imported project =
      Must(Json("{\"sandbox\": {\"filesystem\": {\"allowWrite\": [\"/p\"], "
                "\"denyRead\": [\"/k\"]}}}"));
  auto policy = Stack({.user_and_files = {{.name = "u", .parsed = user.Root()},
                                          {.name = "p", .parsed = project.Root()}}},
                      Ctx());
  ASSERT_TRUE(policy);
  for (const char* path : {"/u", "/p", "/w"}) EXPECT_TRUE(Writes(*policy, path)) << path;
  EXPECT_FALSE(Reads(*policy, "/k"));
  EXPECT_THAT(Texts(policy->net.allow), Contains("a.test"));
}

TEST(Settings, ClaudeBlockedReadsLeaveTheWorkingDirectories) {
  Policy policy =
      Means(Json("{\"permissions\": {\"blockReadsOutsideWorkingDirectories\": true, "
                 "\"additionalDirectories\": [\"~/lib\"]}}"));
  EXPECT_FALSE(Reads(policy, "/home/u/x"));
  EXPECT_TRUE(Reads(policy, "/home/u/lib/x"));
  EXPECT_TRUE(Reads(policy, "/usr/bin/ls"));
  EXPECT_TRUE(Reads(policy, "/w/x"));
}

TEST(Settings, NothingRunsOutsideAndNoSwitchWeakens) {
  Imported imported = Must(
      Json("{\"sandbox\": {\"excludedCommands\": [\"docker\"], \"allowUnsandboxedCommands\": true, "
           "\"enableWeakerNestedSandbox\": true, \"enableWeakerNetworkIsolation\": true, "
           "\"network\": {\"allowAllUnixSockets\": true, \"allowUnixSockets\": "
           "[\"/run/podman/podman.sock\"]}}}"));
  for (const char* key :
       {"sandbox.excludedCommands", "sandbox.allowUnsandboxedCommands",
        "sandbox.enableWeakerNestedSandbox", "sandbox.enableWeakerNetworkIsolation",
        "sandbox.network.allowAllUnixSockets", "sandbox.network.allowUnixSockets"}) {
    EXPECT_THAT(LostKeys(imported), Contains(key));
  }
  Policy policy = PolicyOf(imported);
  EXPECT_EQ(policy.exec, ExecPolicy{});
  EXPECT_TRUE(policy.net.unix_sockets.empty());
  EXPECT_TRUE(policy.net.unix_sockets_dangerous.empty());
  EXPECT_EQ(policy.on_unavailable, OnUnavailable::kRefuse);
}

TEST(Settings, CodexModes) {
  auto mode = [](std::string text) { return Means(Toml(text, "/home/u/.codex/config.toml")); };
  Policy none = mode("");
  EXPECT_TRUE(none.fs.write.empty());
  EXPECT_EQ(none.net.mode, NetMode::kNone);
  EXPECT_TRUE(Reads(none, "/home/u/x"));
  Policy write = mode("sandbox_mode = \"workspace-write\"");
  EXPECT_TRUE(Writes(write, "/w/x"));
  EXPECT_EQ(write.fs.temp, TempMode::kPrivate);
  EXPECT_FALSE(Writes(write, "/w/.git/index"));
  EXPECT_EQ(write.net.mode, NetMode::kNone);
  EXPECT_EQ(
      mode("sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true")
          .net.mode,
      NetMode::kOpen);
  EXPECT_EQ(mode("sandbox_mode = \"danger-full-access\"").fs.write.at(0).path, "/");
  EXPECT_TRUE(
      Writes(mode("profile = \"p\"\n[profiles.p]\nsandbox_mode = \"workspace-write\""), "/w/x"));
}

TEST(Settings, CodexEnvironment) {
  auto passed = [](std::string text) {
    return Texts(
        Means(Toml("[shell_environment_policy]\n" + text, "/x/.codex/config.toml")).env.pass);
  };
  using ::testing::UnorderedElementsAre;
  EXPECT_THAT(passed(""), UnorderedElementsAre("AWS_REGION", "Azure_Zone", "HOME", "LANG", "PATH"));
  EXPECT_THAT(passed("exclude = [\"aws_*\", \"AZURE_?one\"]"),
              UnorderedElementsAre("HOME", "LANG", "PATH"));
  EXPECT_THAT(passed("inherit = \"core\""), UnorderedElementsAre("HOME", "PATH"));
  EXPECT_THAT(passed("inherit = \"none\""), UnorderedElementsAre());
  EXPECT_THAT(passed("include_only = [\"LA*\"]"), UnorderedElementsAre("LANG"));
  EXPECT_THAT(passed("ignore_default_excludes = true\nexclude = [\"*_*\"]"),
              UnorderedElementsAre("HOME", "LANG", "PATH"));
  Policy all =
      Means(Toml("[shell_environment_policy]\nignore_default_excludes = true\nset = { A = \"b\" }",
                 "/x/.codex/config.toml"));
  EXPECT_EQ(all.env.mode, EnvMode::kInherit);
  EXPECT_EQ(all.env.set.at("A"), "b");
}

TEST(Settings, CursorTypesAndNetwork) {
  auto means = [](std::string text) { return Means(Json(text, "/w/.cursor/sandbox.json")); };
  Policy plain = means("{}");
  EXPECT_TRUE(Writes(plain, "/w/x"));
  EXPECT_EQ(plain.fs.temp, TempMode::kPrivate);
  EXPECT_EQ(plain.net.mode, NetMode::kProxy);
  EXPECT_TRUE(plain.net.allow.empty());
  EXPECT_TRUE(means("{\"type\": \"workspace_readonly\"}").fs.write.empty());
  EXPECT_EQ(means("{\"networkPolicy\": {\"default\": \"allow\"}}").net.mode, NetMode::kPublic);
  Policy confined = means("{\"readBoundary\": \"workspace\", \"additionalReadPaths\": [\"/ref\"]}");
  EXPECT_FALSE(Reads(confined, "/home/u/notes"));
  EXPECT_TRUE(Reads(confined, "/ref/x"));
  Policy still = means("{\"readBoundary\": \"workspace\", \"type\": \"workspace_readonly\"}");
  EXPECT_TRUE(still.fs.write.empty());
  EXPECT_TRUE(Reads(still, "/w/x"));
}

TEST(Settings, AgentsHaveTheirOwnDirectories) {
  const std::string two =
      "[[agents]]\nid = \"a\"\n[[agents]]\nid = \"b\"\nworkspace = \"/ws/b\"\n[agents.sandbox]\n"
      "writable_paths = [\"/shared\"]\nreadable_paths = [\"/ref\"]\npassthrough_env = [\"X\"]\n";
  Imported a = Must(Toml(two, "/bot/config.toml", "a"));
  EXPECT_EQ(a.workspace, "/bot/agents/a/workspace");
  Policy policy = PolicyOf(a);
  EXPECT_EQ(policy.fs.data_dir->path, "/bot/agents/a");
  EXPECT_FALSE(LeftReadable(policy.fs, "/bot/agents/b/workspace/x"));
  EXPECT_FALSE(LeftReadable(policy.fs, "/bot/config.toml"));
  EXPECT_TRUE(Reads(policy, "/bot/tools/bin/x"));
  EXPECT_FALSE(Writes(policy, "/shared/x"));

  Imported b = Must(Toml(two, "/bot/config.toml", "b"));
  EXPECT_EQ(b.workspace, "/ws/b");
  EXPECT_TRUE(Writes(PolicyOf(b), "/shared/x"));
  EXPECT_TRUE(Reads(PolicyOf(b), "/ref/x"));
  EXPECT_THAT(Texts(PolicyOf(b).env.pass), Contains("X"));

  auto none = ImportSettings(Toml(two, "/bot/config.toml"), Ctx());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().hint, "--agent takes one of a b");
  EXPECT_THAT(Problem(Toml(two, "/bot/config.toml", "c")), HasSubstr("no agent \"c\""));
  EXPECT_FALSE(
      ImportSettings({.text = "{}", .path = "/w/.claude/settings.json", .agent = "a"}, Ctx()));
}

TEST(Settings, AgentModes) {
  auto means = [](std::string text) { return Means(Toml(text, "/bot/config.toml")); };
  EXPECT_TRUE(Writes(means("[sandbox]\n[[agents]]\nid = \"a\"\n"), "/w/x"));
  EXPECT_TRUE(means("[sandbox]\nmode = \"rx\"").fs.write.empty());
  EXPECT_EQ(means("[sandbox]\nmode = \"rwx\"").fs.write.at(0).path, "/");
  EXPECT_EQ(means("[[agents]]\nid = \"a\"\n[agents.sandbox]\nmode = \"disabled\"").net.mode,
            NetMode::kOpen);
  EXPECT_FALSE(
      Writes(means("[[agents]]\nid = \"a\"\n[agents.sandbox]\nmode = \"enabled\""), "/etc/x"));
}

TEST(Settings, NamesThatOurPathsWouldReadOtherwise) {
  Policy policy =
      Means(Json("{\"filesystem\": {\"allowWrite\": [\"/a$b\", \"?x\"], "
                 "\"denyRead\": [\"/k$HOME\"]}}",
                 "/x.json"));
  EXPECT_TRUE(Writes(policy, "/a$b"));
  EXPECT_FALSE(Reads(policy, "/k$HOME"));
  EXPECT_EQ(policy.fs.write.size(), 1u);  // a glob is left out
}

}  // namespace
}  // namespace cordon::policy
