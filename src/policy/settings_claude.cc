// Claude Code's settings.json: its `sandbox` table, and the permission rules
// that its sandbox honours too.
//
// Paths of sandbox.filesystem: "/x" from the root, "~/x" from home, others from
// the project (in the user's own file from ~/.claude). Paths of rules: "//x"
// from the root, "~/x" from home, "/x" from the project, others from where the
// command runs; a name without a slash at any depth.
#include <algorithm>

#include "guard/path.h"
#include "policy/settings_builder.h"

namespace cordon::policy {
namespace {

constexpr char kPermissions[] = "how the agent asks; no matter of the sandbox";

// Where the two kinds of relative paths start, as our lists write it.
struct Bases {
  std::string project = ".";
  std::string relative = ".";  // of sandbox.filesystem
};

Bases BasesOf(const SettingsFile& file, const Context& context) {
  size_t at = file.path.rfind("/.claude/");
  if (at == file.path.npos) return {};
  std::string root = file.path.substr(0, at);
  if (root == context.home) return {.relative = "~/.claude"};
  if (root == context.workspace) return {};
  return {.project = root, .relative = root};
}

// "Read(~/.ssh/**)" → "Read" and "~/.ssh/**"; no rule in brackets: the whole tool.
struct Rule {
  std::string tool;
  std::optional<Said> subject;
};

Rule ParseRule(const Said& said) {
  size_t open = said.text.find('(');
  if (open == said.text.npos || !said.text.ends_with(')')) return {said.text, std::nullopt};
  std::string subject = said.text.substr(open + 1, said.text.size() - open - 2);
  return {said.text.substr(0, open), Said{std::move(subject), said.line}};
}

class Permissions {
 public:
  Permissions(SettingsBuilder& builder, const Bases& bases) : builder_(builder), bases_(bases) {}

  void Allow(const Said& said) {
    Rule rule = ParseRule(said);
    if (auto host = Host(rule)) return builder_.AddHost(*host, kAllowKey);
    if (!Edits(rule) || !rule.subject) return Judged(said, kAllowKey);
    auto [path, base] = Anchored(*rule.subject);
    builder_.AddPath("fs.write", path, base, kAllowKey);
  }

  Status Deny(const Said& said) {
    Rule rule = ParseRule(said);
    if (auto host = Host(rule)) return builder_.AddDeniedHost(*host, kDenyKey);
    bool read = rule.tool == "Read";
    if (!rule.subject || (!read && !Edits(rule))) {
      Judged(said, kDenyKey);
      return {};
    }
    std::string_view key = read ? "fs.deny_read" : "fs.deny_write";
    Said path = *rule.subject;
    while (path.text.size() > 1 && path.text.ends_with('/')) path.text.pop_back();
    bool name = path.text.find('/') == path.text.npos && !path.text.starts_with('~');
    if (name) path.text = "**/" + path.text;
    auto [anchored, base] = Anchored(path);
    return builder_.AddDeniedPath(key, anchored, base, kDenyKey);
  }

 private:
  static constexpr char kAllowKey[] = "permissions.allow";
  static constexpr char kDenyKey[] = "permissions.deny";

  static bool Edits(const Rule& rule) { return rule.tool == "Edit" || rule.tool == "Write"; }

  static std::optional<Said> Host(const Rule& rule) {
    constexpr std::string_view kDomain = "domain:";
    if (rule.tool != "WebFetch" || !rule.subject) return std::nullopt;
    if (!rule.subject->text.starts_with(kDomain)) return std::nullopt;
    return Said{rule.subject->text.substr(kDomain.size()), rule.subject->line};
  }

  std::pair<Said, std::string> Anchored(Said path) const {
    if (path.text.starts_with("//")) return {path, "."};
    if (!path.text.starts_with('/')) return {path, "."};
    path.text.erase(0, 1);
    return {path, bases_.project};
  }

  void Judged(const Said& said, const char* key) {
    builder_.Elsewhere(said.line, key, "\"" + said.text + "\" is judged by the agent, not here");
  }

  SettingsBuilder& builder_;
  const Bases& bases_;
};

// With it, reads below the users' directories are for the working directories alone.
Status CloseHomes(SettingsBuilder& builder, int line) {
  for (const char* path : {"/home", "/Users", "/Volumes", "/root", "~"}) {
    CORDON_TRY(builder.AddDeniedPath("fs.deny_read", {path, line}, ".", "permissions"));
  }
  builder.AddPath("fs.allow_read_within_deny", {".", line}, ".", "permissions");
  return {};
}

Status ReadPermissions(SettingsBuilder& builder, Section section, const Bases& bases) {
  Permissions rules(builder, bases);
  CORDON_ASSIGN_OR_RETURN(auto allowed, section.Texts("allow"));
  for (const Said& said : allowed) rules.Allow(said);
  CORDON_ASSIGN_OR_RETURN(auto denied, section.Texts("deny"));
  for (const Said& said : denied) CORDON_TRY(rules.Deny(said));
  CORDON_ASSIGN_OR_RETURN(auto closed, section.Flag("blockReadsOutsideWorkingDirectories"));
  if (closed.value_or(false)) {
    CORDON_TRY(CloseHomes(builder, section.LineOf("blockReadsOutsideWorkingDirectories")));
  }
  CORDON_ASSIGN_OR_RETURN(auto directories, section.Texts("additionalDirectories"));
  for (const Said& path : directories) {
    std::string ours =
        builder.AddPath("fs.write", path, ".", section.Name("additionalDirectories"));
    if (closed.value_or(false) && !ours.empty()) {
      builder.Add("fs.allow_read_within_deny", {ours, path.line});
    }
  }
  section.Rest(kPermissions, SettingsNote::Weight::kElsewhere);
  return {};
}

Status ReadEscapes(SettingsBuilder& builder, Section& sandbox) {
  CORDON_ASSIGN_OR_RETURN(auto excluded, sandbox.Texts("excludedCommands"));
  for (const Said& command : excluded) {
    builder.Lost(command.line, sandbox.Name("excludedCommands"),
                 "\"" + command.text + "\" runs inside like any other");
  }
  CORDON_ASSIGN_OR_RETURN(auto outside, sandbox.Flag("allowUnsandboxedCommands"));
  if (outside.value_or(false)) {
    builder.Lost(sandbox.LineOf("allowUnsandboxedCommands"),
                 sandbox.Name("allowUnsandboxedCommands"), "no command runs outside");
  }
  return {};
}

Status ReadSandbox(SettingsBuilder& builder, Section sandbox, const Bases& bases) {
  CORDON_ASSIGN_OR_RETURN(auto enabled, sandbox.Flag("enabled"));
  if (enabled && !*enabled) {
    builder.Elsewhere(sandbox.LineOf("enabled"), sandbox.Name("enabled"),
                      "false there; who gives this file to Cordon is contained all the same");
  }
  CORDON_ASSIGN_OR_RETURN(auto fails, sandbox.Flag("failIfUnavailable"));
  if (fails.value_or(false)) {
    builder.Set("on_unavailable", "refuse", sandbox.LineOf("failIfUnavailable"));
  } else if (fails) {
    builder.Elsewhere(sandbox.LineOf("failIfUnavailable"), sandbox.Name("failIfUnavailable"),
                      "what cannot be enforced refuses the run, unless on_unavailable = \"warn\"");
  }
  CORDON_TRY(ReadEscapes(builder, sandbox));
  sandbox.Elsewhere("autoAllowBashIfSandboxed", kPermissions);
  CORDON_ASSIGN_OR_RETURN(Section network, sandbox.Table("network"));
  CORDON_TRY(ReadSrtNetwork(builder, std::move(network)));
  CORDON_ASSIGN_OR_RETURN(Section filesystem, sandbox.Table("filesystem"));
  CORDON_TRY(ReadSrtFilesystem(builder, filesystem, bases.relative));
  CORDON_TRY(ReadSrtSwitches(builder, sandbox));
  sandbox.Elsewhere("enabledPlatforms", "contained on every platform");
  sandbox.Rest("not known");
  return {};
}

}  // namespace

Status ReadClaude(SettingsBuilder& builder, const Node& root) {
  Bases bases = BasesOf(builder.file(), builder.context());
  builder.Set("preset", "bare");
  builder.Add("fs.write", {"."});
  Section top(builder, &root, "");
  CORDON_ASSIGN_OR_RETURN(Section sandbox, top.Table("sandbox"));
  CORDON_TRY(ReadSandbox(builder, std::move(sandbox), bases));
  CORDON_ASSIGN_OR_RETURN(Section permissions, top.Table("permissions"));
  CORDON_TRY(ReadPermissions(builder, std::move(permissions), bases));
  top.Elsewhere("env", "values may be secrets; --env NAME passes one on");
  top.Rest("not about the sandbox", SettingsNote::Weight::kElsewhere);
  return {};
}

}  // namespace cordon::policy
