#include "policy/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/strings.h"
#include "policy/render.h"
#include "policy/schema.h"
#include "policy/settings_builder.h"

namespace cordon::policy {
namespace {

using Kind = Node::Kind;

struct Reader {
  SettingsKind kind;
  std::string_view name;
  std::string_view whose;
  Status (*read)(SettingsBuilder&, const Node&);
};

constexpr std::array kReaders = {
    Reader{SettingsKind::kClaude, "claude", "Claude Code's settings", ReadClaude},
    Reader{SettingsKind::kSrt, "srt", "srt's settings", ReadSrt},
    Reader{SettingsKind::kAgents, "agents", "a config.toml with [sandbox] or [[agents]]",
           ReadAgents},
    Reader{SettingsKind::kCodex, "codex", "Codex's config.toml", ReadCodex},
    Reader{SettingsKind::kCursor, "cursor", "Cursor's sandbox.json", ReadCursor},
};

const Reader* FindReader(SettingsKind kind) {
  auto found = std::ranges::find(kReaders, kind, &Reader::kind);
  return found == kReaders.end() ? nullptr : &*found;
}

// The places where the tools themselves look.
SettingsKind KindByName(std::string_view path) {
  auto ends = [&](std::string_view end) { return path.ends_with(end); };
  if (path.find("/.claude/settings") != path.npos || ends("/managed-settings.json")) {
    return SettingsKind::kClaude;
  }
  if (ends("/.srt-settings.json") || ends("/srt-settings.json")) return SettingsKind::kSrt;
  if (ends("/.codex/config.toml")) return SettingsKind::kCodex;
  if (ends("/.cursor/sandbox.json")) return SettingsKind::kCursor;
  return SettingsKind::kAuto;
}

bool HoldsAny(const Node& root, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](auto key) { return root.Find(key) != nullptr; });
}

SettingsKind KindByContent(const Node& root, Format format) {
  if (format == Format::kToml) {
    const Node* sandbox = root.Find("sandbox");
    bool mode = sandbox != nullptr && sandbox->Find("mode") != nullptr;
    if (mode || HoldsAny(root, {"agents"})) return SettingsKind::kAgents;
    bool codex = HoldsAny(root, {"sandbox_mode", "sandbox_workspace_write", "approval_policy",
                                 "shell_environment_policy", "model_provider", "mcp_servers"});
    return codex ? SettingsKind::kCodex : SettingsKind::kAuto;
  }
  if (HoldsAny(root, {"networkPolicy", "additionalReadwritePaths", "additionalReadonlyPaths",
                      "disableTmpWrite", "readBoundary"})) {
    return SettingsKind::kCursor;
  }
  if (HoldsAny(root, {"sandbox", "permissions"})) return SettingsKind::kClaude;
  if (HoldsAny(root, {"network", "filesystem"})) return SettingsKind::kSrt;
  return SettingsKind::kAuto;
}

Result<SettingsKind> KindOf(const SettingsFile& file, const Node& root) {
  if (file.kind != SettingsKind::kAuto) return file.kind;
  SettingsKind kind = KindByName(file.path);
  if (kind == SettingsKind::kAuto) kind = KindByContent(root, file.format);
  if (kind != SettingsKind::kAuto) return kind;
  bool ours = HoldsAny(root, {"fs", "net", "preset"});
  return base::InvalidArgument(
      Reason::kPolicyBadValue,
      base::Printable(file.name) + ": not the settings of a tool known here",
      ours ? "it is a policy of Cordon: --policy " + file.name
           : "say whose they are: claude, srt, agents, codex or cursor");
}

// ---- as TOML ----

std::string Scalar(const Node& node) {
  if (node.kind == Kind::kArray) {
    std::vector<std::string> items;
    for (const Node& item : node.items) items.push_back(Scalar(item));
    return "[" + base::Join(items, ", ") + "]";
  }
  if (node.kind == Kind::kInteger) return std::to_string(node.integer);
  if (node.kind == Kind::kBoolean) return node.integer != 0 ? "true" : "false";
  if (node.kind != Kind::kTable) return Quote(node.text);
  std::vector<std::string> members;
  for (const auto& [name, value] : node.members) members.push_back(name + " = " + Scalar(value));
  return "{ " + base::Join(members, ", ") + " }";
}

std::string Comment(int line) { return line > 0 ? fmt::format("  # line {}", line) : ""; }

std::string Lines(std::string_view name, const Node& node) {
  if (node.kind != Kind::kArray || node.items.empty()) {
    return fmt::format("{} = {}{}\n", name, Scalar(node), Comment(node.line));
  }
  std::string lines = fmt::format("{} = [\n", name);
  for (const Node& item : node.items) {
    lines += fmt::format("  {},{}\n", Quote(item.text), Comment(item.line));
  }
  return lines + "]\n";
}

std::string NoteLine(const SettingsNote& note) {
  std::string place = note.line > 0 ? fmt::format("line {}, ", note.line) : "";
  return fmt::format("#   {}{}: {}\n", place, base::Printable(note.key), base::Printable(note.why));
}

std::string Notes(const Imported& imported, SettingsNote::Weight weight, const char* heading) {
  std::string lines;
  for (const SettingsNote& note : imported.notes) {
    if (note.weight == weight) lines += NoteLine(note);
  }
  return lines.empty() ? "" : fmt::format("#\n# {}\n{}", heading, lines);
}

std::pair<std::string, std::string> TableAndName(std::string_view key) {
  size_t dot = key.rfind('.');
  if (dot == key.npos) return {"", std::string(key)};
  return {std::string(key.substr(0, dot)), std::string(key.substr(dot + 1))};
}

}  // namespace

Result<SettingsKind> ParseSettingsKind(std::string_view name) {
  std::vector<std::string> names;
  for (const Reader& reader : kReaders) {
    if (reader.name == name) return reader.kind;
    names.emplace_back(reader.name);
  }
  return base::InvalidArgument(Reason::kUsage, "settings are of one of " + base::Join(names, " ") +
                                                   ", not of \"" + base::Printable(name) + "\"");
}

std::string_view SettingsKindName(SettingsKind kind) {
  const Reader* reader = FindReader(kind);
  return reader == nullptr ? "auto" : reader->name;
}

Node Imported::Root() const {
  Node root;
  for (const Key& key : Keys()) {
    auto found = values.find(std::string(key.name));
    if (found == values.end()) continue;
    auto [table, member] = TableAndName(key.name);
    Node* into = &root;
    if (!table.empty()) {
      if (root.Find(table) == nullptr) root.members.emplace_back(table, Node{});
      into = &root.members.back().second;  // keys of a table stand together
    }
    into->members.emplace_back(member, found->second);
  }
  return root;
}

Result<Imported> ImportSettings(const SettingsFile& file, const Context& context) {
  CORDON_ASSIGN_OR_RETURN(Node root, ParseDocument(file.text, file.format, file.name));
  CORDON_ASSIGN_OR_RETURN(SettingsKind kind, KindOf(file, root));
  if (!file.agent.empty() && kind != SettingsKind::kAgents) {
    return base::InvalidArgument(Reason::kUsage,
                                 base::Printable(file.name) + ": has no agents to choose from");
  }
  SettingsBuilder builder(file, context);
  builder.SetNumber("version", 1);
  CORDON_TRY(FindReader(kind)->read(builder, root));
  return std::move(builder).Take(kind);
}

std::string RenderImported(const Imported& imported) {
  const Reader* reader = FindReader(imported.kind);
  std::string text = fmt::format("# Made from {} ({}) by `cordon policy import`.\n",
                                 base::Printable(imported.name), reader->whose);
  if (!imported.workspace.empty()) {
    text += fmt::format("# The agent's workspace: --workspace {}\n",
                        base::Printable(imported.workspace));
  }
  text += Notes(imported, SettingsNote::Weight::kLost, "Not carried over:");
  text += Notes(imported, SettingsNote::Weight::kElsewhere, "No matter of this policy:");
  std::string open;
  for (const Key& key : Keys()) {
    auto found = imported.values.find(std::string(key.name));
    if (found == imported.values.end()) continue;
    auto [table, name] = TableAndName(key.name);
    if (table != open) text += fmt::format("\n[{}]\n", table);
    open = table;
    text += Lines(name, found->second);
  }
  return text;
}

}  // namespace cordon::policy
