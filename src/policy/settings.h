// Other tools' settings files → our policy, with a note on every word of theirs
// that ours has no place for.
//
//   Result<Imported> imported = ImportSettings({.text = bytes, .path = "/w/.claude/settings.json"},
//                                              context);
//   Print(RenderImported(*imported));                    // TOML with comments
//   Stack({.user_and_files = {{.name = …, .parsed = imported->Root()}}}, context);
//
// What a file denies is carried over or the file is refused; what it allows and
// cannot be said here is left out and noted. A wrong type is kPolicyBadValue
// with file, line and their key.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"
#include "policy/document.h"
#include "policy/values.h"

namespace cordon::policy {

// kAuto: by the file's name, else by what is in it.
enum class SettingsKind { kAuto, kClaude, kSrt, kAgents, kCodex, kCursor };

// "claude", "srt", "agents", "codex", "cursor"; kUsage for another word.
Result<SettingsKind> ParseSettingsKind(std::string_view name);
std::string_view SettingsKindName(SettingsKind kind);

struct SettingsFile {
  std::string text;
  Format format = Format::kJson;
  std::string name;  // for messages and origins
  std::string path;  // absolute: what is relative to the file starts there
  SettingsKind kind = SettingsKind::kAuto;
  std::string agent;  // which of several; empty: the only one
};

// A word of theirs that did not become one of ours.
struct SettingsNote {
  // kElsewhere: not about containment (a model, a theme), or always so here.
  enum class Weight { kLost, kElsewhere };
  int line = 0;
  std::string key;
  std::string why;
  Weight weight = Weight::kLost;
};

struct Imported {
  SettingsKind kind = SettingsKind::kAuto;
  std::string name;  // of the file
  std::string path;
  std::map<std::string, Node> values;  // by our dotted key; their lines
  std::vector<SettingsNote> notes;     // in the order of the file
  std::string workspace;               // where the agent works, if the file says so

  // The document that `values` are.
  Node Root() const;
};

Result<Imported> ImportSettings(const SettingsFile& file, const Context& context);

// The policy as TOML, what was left out as comments at its head.
std::string RenderImported(const Imported& imported);

}  // namespace cordon::policy
