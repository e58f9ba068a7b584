#include "policy/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/preset.h"

namespace cordon::policy {
namespace {

using ::testing::StartsWith;

Context Ctx() { return {.home = "/home/u", .workspace = "/w", .env = {}}; }

Source Toml(std::string name, std::string text) {
  return {.name = std::move(name), .text = std::move(text)};
}

Policy Must(const LayerInputs& inputs) {
  auto policy = Stack(inputs, Ctx());
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().message);
  return policy ? *policy : Policy{};
}

bool Has(const PathRules& rules, std::string_view path) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const PathRule& rule) { return rule.path == path; });
}

TEST(Stack, NothingSaidIsTheDefaultPreset) { EXPECT_EQ(Must({}), *Preset(kDefaultPreset, Ctx())); }

TEST(Stack, TheLastLayerThatNamesAPresetDecides) {
  LayerInputs inputs{.user_and_files = {Toml("user", "preset = \"rx\""), Toml("file", "")}};
  EXPECT_EQ(Must(inputs), *Preset("rx", Ctx()));
  inputs.user_and_files[1].text = "preset = [\"strict\", \"open-net\"]";
  EXPECT_EQ(Must(inputs), *Presets({"strict", "open-net"}, Ctx()));
  inputs.presets_from_flags = {"rwx"};
  EXPECT_EQ(Must(inputs), *Preset("rwx", Ctx()));
}

TEST(Stack, LaterFilesExtendEarlierAndFlagsExtendFiles) {
  LayerInputs inputs{
      .user_and_files = {Toml("user",
                              "[fs]\nwrite = [\"/u\"]\ntemp = \"none\"\n[limits]\nwall = 1"),
                         Toml("file", "[fs]\nwrite = [\"/f\"]\ntemp = \"shared\"\n")},
      .flags = {{"fs.write", "/g", "flag --write"}, {"limits.wall", "9", "flag --timeout"}}};
  Policy policy = Must(inputs);
  for (const char* path : {"/w", "/u", "/f", "/g"}) EXPECT_TRUE(Has(policy.fs.write, path)) << path;
  EXPECT_EQ(policy.fs.temp, TempMode::kShared);
  EXPECT_EQ(policy.limits.wall_ms, 9000u);
  EXPECT_EQ(policy.origins.at("limits.wall").ToString(), "flag --timeout");
  EXPECT_EQ(policy.fs.write.back().origin.ToString(), "flag --write");
}

TEST(Stack, TheAdministratorIsACeiling) {
  LayerInputs inputs{
      .admin = Toml("/etc/cordon/policy.toml",
                    "[fs]\nwrite = [\"/w\", \"/srv\"]\ndeny_read = [\"/srv/key\"]\n"
                    "[net]\nmode = \"none\"\n[limits]\nprocesses = 10\n"),
      .presets_from_flags = {"rwx"},
      .flags = {{"net.mode", "open", "flag --net"}, {"limits.processes", "500", "flag"}}};
  Policy policy = Must(inputs);
  EXPECT_EQ(policy.fs.write.size(), 2u);
  EXPECT_TRUE(Has(policy.fs.write, "/w") && Has(policy.fs.write, "/srv"));
  EXPECT_TRUE(Has(policy.fs.read, "/"));
  EXPECT_TRUE(Has(policy.fs.deny_read, "/srv/key"));
  EXPECT_EQ(policy.net.mode, NetMode::kNone);
  EXPECT_EQ(policy.limits.processes, 10u);
}

TEST(Stack, AnAdministratorsListCapsWithoutAMode) {
  Policy policy =
      Must({.admin = Toml("admin", "[net]\nallow = [\"x.com\"]\n[env]\npass = [\"LANG\"]\n"),
            .presets_from_flags = {"rwx"}});
  EXPECT_EQ(policy.net.mode, NetMode::kProxy);
  ASSERT_EQ(policy.net.allow.size(), 1u);
  EXPECT_EQ(policy.net.allow[0].text, "x.com");
  EXPECT_EQ(policy.env.mode, EnvMode::kClean);
  EXPECT_EQ(policy.env.pass.size(), 1u);
}

TEST(Stack, AnEmptyAdministratorsFileChangesNoGrant) {
  Policy with = Must({.admin = Toml("admin", "")});
  Policy without = Must({});
  EXPECT_EQ(with.fs.write, without.fs.write);
  EXPECT_EQ(with.fs.deny_read.size(), without.fs.deny_read.size());
  EXPECT_EQ(with.fs.temp, without.fs.temp);
  EXPECT_EQ(with.env.mode, without.env.mode);
  EXPECT_EQ(with.env.pass.size(), without.env.pass.size());
}

constexpr char kGreedy[] = R"(
preset = "rwx"
[fs]
write = ["/"]
deny_read = [".env"]
git = "off"
[net]
mode = "open"
upstream = "http://evil:1"
external = { http = 1 }
tls.ca = { cert = "/w/ca", key = "/w/key" }
[[net.credential]]
host = "evil.test"
header = "X"
from = "command:touch /tmp/ran"
[exec]
nesting = true
[audit]
log = "/home/u/.bashrc"
[limits]
wall = "5s"
)";

TEST(Stack, AnUntrustedWorkspaceFileOnlyNarrows) {
  Policy policy = Must({.workspace_file = Toml(".cordon.toml", kGreedy)});
  ASSERT_EQ(policy.fs.write.size(), 1u);
  EXPECT_EQ(policy.fs.write[0].path, "/w");
  EXPECT_TRUE(Has(policy.fs.deny_read, "/w/**/.env"));
  EXPECT_TRUE(Has(policy.fs.deny_read, "/home/u/.ssh"));
  EXPECT_EQ(policy.fs.git, GitMode::kProtect);
  EXPECT_EQ(policy.net.mode, NetMode::kProxy);
  EXPECT_EQ(policy.net.upstream, "");
  EXPECT_EQ(policy.net.external, std::nullopt);
  EXPECT_EQ(policy.net.tls_ca, std::nullopt);
  EXPECT_TRUE(policy.net.credentials.empty());
  EXPECT_FALSE(policy.exec.nesting);
  EXPECT_EQ(policy.audit.log, "");
  EXPECT_EQ(policy.limits.wall_ms, 5000u);
}

TEST(Stack, AScalarNamesTheLayerWhoseValueItHas) {
  LayerInputs inputs{.admin = Toml("admin", "[limits]\nwall = 100\nprocesses = 5\n"),
                     .user_and_files = {Toml("user", "[limits]\nwall = 50\nprocesses = 9\n")},
                     .workspace_file = Toml("ws", "[limits]\nwall = 10\nprocesses = 90\n")};
  Policy policy = Must(inputs);
  EXPECT_EQ(policy.limits.wall_ms, 10000u);
  EXPECT_EQ(policy.origins.at("limits.wall").ToString(), "ws:2");
  EXPECT_EQ(policy.limits.processes, 5u);
  EXPECT_EQ(policy.origins.at("limits.processes").ToString(), "admin:3");
}

TEST(Stack, ATrustedWorkspaceFileExtends) {
  Policy policy = Must({.workspace_file = Toml(".cordon.toml", kGreedy),
                        .workspace_file_trust = WorkspaceFileTrust::kTrusted});
  EXPECT_TRUE(Has(policy.fs.write, "/"));
  EXPECT_EQ(policy.net.mode, NetMode::kOpen);
  EXPECT_EQ(policy.audit.log, "/home/u/.bashrc");
}

TEST(Stack, EvenATrustedWorkspaceFileStaysBelowTheAdministrator) {
  Policy policy = Must({.admin = Toml("admin", "[net]\nmode = \"none\"\n[fs]\nwrite = [\".\"]\n"),
                        .workspace_file = Toml(".cordon.toml", kGreedy),
                        .workspace_file_trust = WorkspaceFileTrust::kTrusted});
  EXPECT_EQ(policy.net.mode, NetMode::kNone);
  ASSERT_EQ(policy.fs.write.size(), 1u);
  EXPECT_EQ(policy.fs.write[0].path, "/w");
}

TEST(Stack, OnlyInAnUntrustedFileCannotLiftADeny) {
  Policy policy = Must({.workspace_file = Toml(".cordon.toml",
                                               "[fs]\ndeny_read = { only = [] }\n"
                                               "allow_read_within_deny = [\"~/.ssh/id_rsa\"]\n")});
  EXPECT_TRUE(Has(policy.fs.deny_read, "/home/u/.ssh"));
  EXPECT_FALSE(Has(policy.fs.allow_read_within_deny, "/home/u/.ssh/id_rsa"));
}

TEST(Stack, ABrokenLayerIsAnErrorThatNamesIt) {
  LayerInputs layers[] = {{.admin = Toml("L", "x = 1")},
                          {.user_and_files = {Toml("L", "x = 1")}},
                          {.workspace_file = Toml("L", "x = 1")},
                          {.workspace_file = Toml("L", "preset = []")}};
  for (const LayerInputs& inputs : layers) {
    auto policy = Stack(inputs, Ctx());
    ASSERT_FALSE(policy);
    EXPECT_THAT(policy.error().message, StartsWith("L:1: "));
  }
  EXPECT_FALSE(Stack({.presets_from_flags = {"nonsense"}}, Ctx()));
}

}  // namespace
}  // namespace cordon::policy
