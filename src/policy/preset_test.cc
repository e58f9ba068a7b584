#include "policy/preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "guard/path.h"
#include "policy/document.h"
#include "policy/preset_data.h"

namespace cordon::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Context Ctx() { return {.home = "/home/u", .workspace = "/w", .env = {}}; }

Policy Get(std::string_view name) {
  auto policy = Preset(name, Ctx());
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().message);
  return policy ? *policy : Policy{};
}

bool Denies(const PathRules& rules, std::string_view path) {
  return std::any_of(rules.begin(), rules.end(), [&](const PathRule& rule) {
    return rule.glob ? guard::GlobMatch(rule.path, path) : guard::IsInside(path, rule.path);
  });
}

TEST(Preset, NamesAreThoseOfTheDocumentation) {
  EXPECT_THAT(PresetNames(), ElementsAre("protect", "sandbox", "rx", "rwx", "workspace", "strict",
                                         "bare", "claude", "codex", "gemini", "goose", "opencode",
                                         "aider", "public-net", "open-net"));
}

TEST(Preset, CompiledDataIsTheParsedText) {
  for (const PresetData& data : PresetTable()) {
    auto root = ParseDocument(data.text, Format::kToml, "x");
    ASSERT_TRUE(root);
    EXPECT_EQ(Unflatten(data.nodes), *root) << data.name;
    EXPECT_EQ(PresetText(data.name), data.text);
  }
}

TEST(Preset, UnknownNameGetsAHint) {
  auto policy = Preset("workspaec", Ctx());
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().reason, Reason::kPolicyBadValue);
  EXPECT_THAT(policy.error().hint, HasSubstr("workspace"));
}

TEST(Preset, CredentialsAreDeniedByWorkspaceAndStricter) {
  for (const char* name : {"workspace", "strict", "sandbox", "rx"}) {
    Policy policy = Get(name);
    for (const char* path :
         {"/home/u/.ssh/id_rsa", "/home/u/.gnupg", "/home/u/.aws/credentials",
          "/home/u/.config/gh/hosts.yml", "/home/u/.config/heroku", "/home/u/.kube/config",
          "/home/u/.docker/config.json", "/home/u/.netrc", "/home/u/.cargo/credentials.toml",
          "/home/u/.mozilla/x", "/home/u/.bash_history", "/etc/shadow", "/etc/gshadow-",
          "/etc/ssh/ssh_host_ed25519_key", "/etc/sudoers", "/home/u/.local/state/cordon/trusted"}) {
      EXPECT_TRUE(Denies(policy.fs.deny_read, path)) << name << " " << path;
    }
    EXPECT_FALSE(Denies(policy.fs.deny_read, "/home/u/.cargo/bin/cargo"));
    EXPECT_EQ(policy.fs.allow_read_within_deny.at(0).path, "/home/u/.ssh/known_hosts");
    for (const PathRule& rule : policy.fs.deny_read) EXPECT_TRUE(rule.optional) << rule.path;
  }
}

TEST(Preset, WorkspaceWritesTheWorkspaceAlone) {
  Policy policy = Get("workspace");
  ASSERT_EQ(policy.fs.write.size(), 1u);
  EXPECT_EQ(policy.fs.write[0].path, "/w");
  EXPECT_EQ(policy.fs.read.at(0).path, "/");
  EXPECT_EQ(policy.fs.temp, TempMode::kPrivate);
  EXPECT_EQ(policy.fs.caches, CacheMode::kPrivate);
  EXPECT_EQ(policy.net.mode, NetMode::kProxy);
  EXPECT_EQ(policy.env.mode, EnvMode::kClean);
}

TEST(Preset, StrictReadsAnAllowlist) {
  Policy policy = Get("strict");
  EXPECT_FALSE(Denies(policy.fs.read, "/home/u/notes"));
  EXPECT_FALSE(Denies(policy.fs.read, "/var/log"));
  EXPECT_TRUE(Denies(policy.fs.read, "/w/src"));
  EXPECT_TRUE(Denies(policy.fs.read, "/usr/bin"));
  EXPECT_EQ(policy.fs.caches, CacheMode::kNone);
  EXPECT_EQ(policy.net.mode, NetMode::kNone);
}

TEST(Preset, RxWritesNothingAndRwxEverything) {
  EXPECT_TRUE(Get("rx").fs.write.empty());
  EXPECT_EQ(Get("rwx").fs.write.at(0).path, "/");
  EXPECT_EQ(Get("rwx").net.mode, NetMode::kOpen);
  EXPECT_EQ(Get("rwx").env.mode, EnvMode::kInherit);
  EXPECT_TRUE(Denies(Get("protect").fs.deny_write, "/usr/bin/ls"));
  EXPECT_EQ(Get("protect").net.mode, NetMode::kOpen);
}

TEST(Preset, AgentsWriteTheirStateAndNotWhatTheyObey) {
  struct Case {
    const char* name;
    const char* state;
    const char* obeyed;
    const char* secret;  // of its own
  };
  for (const Case& agent :
       {Case{"claude", "/home/u/.claude/projects", "/home/u/.claude/settings.json",
             "/home/u/.claude/.credentials.json"},
        Case{"codex", "/home/u/.codex/sessions", "/home/u/.codex/config.toml",
             "/home/u/.codex/auth.json"},
        Case{"gemini", "/home/u/.gemini/tmp", "/home/u/.gemini/settings.json",
             "/home/u/.gemini/oauth_creds.json"},
        Case{"opencode", "/home/u/.local/share/opencode/log", "/home/u/.local/share/opencode/bin/x",
             nullptr},
        Case{"goose", "/home/u/.local/state/goose", nullptr, nullptr},
        Case{"aider", "/home/u/.aider", nullptr, nullptr}}) {
    Policy policy = Get(agent.name);
    EXPECT_TRUE(Denies(policy.fs.write, "/w")) << agent.name;
    EXPECT_TRUE(Denies(policy.fs.write, agent.state)) << agent.name;
    EXPECT_FALSE(Denies(policy.fs.write, "/home/u/.config/x")) << agent.name;
    EXPECT_FALSE(Denies(policy.fs.deny_write, agent.state)) << agent.name;
    EXPECT_TRUE(Denies(policy.fs.deny_read, "/home/u/.ssh/id")) << agent.name;
    EXPECT_FALSE(policy.net.allow.empty()) << agent.name;
    EXPECT_EQ(policy.net.mode, NetMode::kProxy) << agent.name;
    if (agent.obeyed != nullptr) {
      EXPECT_TRUE(Denies(policy.fs.deny_write, agent.obeyed)) << agent.name;
      EXPECT_TRUE(Denies(policy.fs.deny_new, agent.obeyed)) << agent.name;
    }
    if (agent.secret != nullptr) {
      EXPECT_FALSE(Denies(policy.fs.deny_read, agent.secret)) << agent.name;
      EXPECT_TRUE(Denies(Get("workspace").fs.deny_read, agent.secret)) << agent.name;
    }
  }
}

TEST(Presets, ModifiersExtendWhatCameBefore) {
  auto policy = Presets({"strict", "public-net"}, Ctx());
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->net.mode, NetMode::kPublic);
  EXPECT_EQ(policy->fs, Get("strict").fs);
  EXPECT_EQ(Presets({"open-net"}, Ctx())->fs, Get("workspace").fs);
  EXPECT_EQ(Presets({}, Ctx())->fs, Get("workspace").fs);
  EXPECT_FALSE(Presets({"strict", "rwx"}, Ctx()));
  EXPECT_FALSE(Presets({"open-net", "rwx"}, Ctx()));
  EXPECT_FALSE(Presets({"nothing"}, Ctx()));
}

}  // namespace
}  // namespace cordon::policy
