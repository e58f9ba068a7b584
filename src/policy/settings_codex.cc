// Codex's config.toml: sandbox_mode with [sandbox_workspace_write], and
// [shell_environment_policy]. Reads are everywhere; without a mode nothing is
// written.
#include <algorithm>
#include <cctype>

#include "guard/path.h"
#include "policy/settings_builder.h"

namespace cordon::policy {
namespace {

constexpr char kElsewhere[] = "not about the sandbox";

Status ReadWorkspaceWrite(SettingsBuilder& builder, Section section) {
  builder.Add("fs.write", {"."});
  CORDON_ASSIGN_OR_RETURN(auto roots, section.Texts("writable_roots"));
  for (const Said& root : roots) {
    std::string key = section.Name("writable_roots");
    if (builder.AddPath("fs.write", root, ".", key).empty()) continue;
    Said git{root.text + "/.git", root.line};
    CORDON_TRY(builder.AddDeniedPath("fs.deny_write", git, ".", key));
  }
  section.Elsewhere("exclude_slash_tmp", "/tmp is a private one here, and can be written");
  CORDON_ASSIGN_OR_RETURN(auto no_tmpdir, section.Flag("exclude_tmpdir_env_var"));
  auto tmpdir = builder.context().env.find("TMPDIR");
  bool has = tmpdir != builder.context().env.end() && tmpdir->second.starts_with('/');
  if (!no_tmpdir.value_or(false) && has) {
    builder.AddPath("fs.write", {guard::EscapeGlob(tmpdir->second)}, ".", "TMPDIR");
  }
  CORDON_ASSIGN_OR_RETURN(auto network, section.Flag("network_access"));
  if (network.value_or(false)) {
    builder.Set("net.mode", "open", section.LineOf("network_access"));
  }
  // There .git of every root is read-only, so that a commit has to be approved.
  return builder.AddDeniedPath("fs.deny_write", {".git"}, ".", ".git");
}

Status ReadMode(SettingsBuilder& builder, Section& top, const std::optional<Said>& mode) {
  CORDON_ASSIGN_OR_RETURN(Section section, top.Table("sandbox_workspace_write"));
  if (mode && mode->text == "danger-full-access") {
    builder.Set("preset", "rwx", mode->line);
    builder.Elsewhere(mode->line, top.Name("sandbox_mode"),
                      "no sandbox at all there; preset rwx still has the floor");
    section.Rest("is for workspace-write", SettingsNote::Weight::kElsewhere);
    return {};
  }
  builder.Set("preset", "bare", mode ? mode->line : 0);
  builder.Set("net.mode", "none");
  if (mode && mode->text == "workspace-write") {
    return ReadWorkspaceWrite(builder, std::move(section));
  }
  section.Rest("is for workspace-write", SettingsNote::Weight::kElsewhere);
  return {};
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// Globs over names, in either case. A slash cannot be in a name, so a path's
// glob is the same thing.
bool MatchesAny(const std::vector<Said>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const Said& pattern) {
    return guard::GlobMatch("/" + Upper(pattern.text), "/" + Upper(name));
  });
}

bool LooksSecret(const std::string& name) {
  std::string upper = Upper(name);
  return std::ranges::any_of(std::initializer_list<const char*>{"KEY", "SECRET", "TOKEN"},
                             [&](const char* word) { return upper.find(word) != upper.npos; });
}

bool IsCore(const std::string& name) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME",
                                         "TMPDIR", "TEMP", "TMP"},
      [&](const char* core) { return name == core; });
}

Status ReadEnvironment(SettingsBuilder& builder, Section section) {
  CORDON_ASSIGN_OR_RETURN(auto inherit, section.Word("inherit", {"all", "core", "none"}));
  CORDON_ASSIGN_OR_RETURN(auto keep_secrets, section.Flag("ignore_default_excludes"));
  CORDON_ASSIGN_OR_RETURN(auto excluded, section.Texts("exclude"));
  CORDON_ASSIGN_OR_RETURN(auto only, section.Texts("include_only"));
  std::string from = inherit ? inherit->text : "all";
  bool filters = !keep_secrets.value_or(false) || !excluded.empty() || !only.empty();
  if (from == "all" && !filters) {
    builder.Set("env.mode", "inherit", section.LineOf("ignore_default_excludes"));
  } else {
    builder.PassVariables([&](const std::string& name) {
      if (from == "none" || (from == "core" && !IsCore(name))) return false;
      if (!keep_secrets.value_or(false) && LooksSecret(name)) return false;
      return !MatchesAny(excluded, name) && (only.empty() || MatchesAny(only, name));
    });
    builder.Elsewhere(section.LineOf("inherit"), "shell_environment_policy",
                      "env.pass lists what its rules leave of the environment of now");
  }
  CORDON_ASSIGN_OR_RETURN(Section set, section.Table("set"));
  CORDON_ASSIGN_OR_RETURN(auto pairs, set.Pairs());
  Node table;
  for (const auto& [name, value] : pairs) {
    table.members.emplace_back(
        name, Node{.kind = Node::Kind::kString, .line = value.line, .text = value.text});
  }
  if (!pairs.empty()) builder.SetNode("env.set", std::move(table));
  section.Elsewhere("experimental_use_profile", "no shell profile is read");
  section.Rest("not known");
  return {};
}

// A profile that the file itself chooses says the mode instead.
Result<std::optional<Said>> Mode(Section& top) {
  const std::vector<std::string> modes = {"read-only", "workspace-write", "danger-full-access"};
  CORDON_ASSIGN_OR_RETURN(auto mode, top.Word("sandbox_mode", modes));
  CORDON_ASSIGN_OR_RETURN(auto profile, top.Text("profile"));
  if (!profile) return mode;
  CORDON_ASSIGN_OR_RETURN(Section profiles, top.Table("profiles"));
  CORDON_ASSIGN_OR_RETURN(Section chosen, profiles.Table(profile->text));
  CORDON_ASSIGN_OR_RETURN(auto instead, chosen.Word("sandbox_mode", modes));
  return instead ? instead : mode;
}

}  // namespace

Status ReadCodex(SettingsBuilder& builder, const Node& root) {
  Section top(builder, &root, "");
  CORDON_ASSIGN_OR_RETURN(auto mode, Mode(top));
  CORDON_TRY(ReadMode(builder, top, mode));
  CORDON_ASSIGN_OR_RETURN(Section environment, top.Table("shell_environment_policy"));
  CORDON_TRY(ReadEnvironment(builder, std::move(environment)));
  for (const char* key : {"permissions", "default_permissions"}) {
    top.Lost(key, "profiles of permissions are not read; sandbox_mode is");
  }
  top.Rest(kElsewhere, SettingsNote::Weight::kElsewhere);
  return {};
}

}  // namespace cordon::policy
