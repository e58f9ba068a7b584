// The two sides of an import: sections of the other tool's file that know which
// of their keys were asked for, and the policy that is being built.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/settings.h"

namespace cordon::policy {

// A text of theirs and where it stands.
struct Said {
  std::string text;
  int line = 0;
};

class SettingsBuilder {
 public:
  SettingsBuilder(const SettingsFile& file, const Context& context)
      : file_(file), context_(context) {
    imported_.name = file.name;
    imported_.path = file.path;
  }

  const SettingsFile& file() const { return file_; }
  const Context& context() const { return context_; }

  // Our keys.
  void Set(std::string_view key, std::string_view text, int line = 0);
  void SetFlag(std::string_view key, int line = 0);  // true
  void SetNumber(std::string_view key, int64_t number, int line = 0);
  void SetNode(std::string_view key, Node value);
  void Add(std::string_view key, Said said);  // to a list; a second time says nothing
  bool Has(std::string_view key, std::string_view text) const;
  void Remove(std::string_view key, std::string_view text);

  // A path of theirs, relative to `base` ("." is the workspace) if it is
  // relative, into a list of ours, and as what; "" if our list cannot say it,
  // which is noted.
  std::string AddPath(std::string_view key, const Said& theirs, std::string_view base,
                      std::string_view their_key);
  // The same for a list that denies: what cannot be said is an error.
  Status AddDeniedPath(std::string_view key, const Said& theirs, std::string_view base,
                       std::string_view their_key);
  void AddHost(const Said& theirs, std::string_view their_key);
  Status AddDeniedHost(const Said& theirs, std::string_view their_key);

  // Passes on the variables of the present environment that `keep` keeps.
  template <typename Keep>
  void PassVariables(Keep keep) {
    Set("env.mode", "clean");
    SetNode("env.pass", {.kind = Node::Kind::kArray});
    for (const auto& [name, value] : context_.env) {
      if (CheckEnvName(name) && keep(name)) Add("env.pass", {name});
    }
  }

  void Lost(int line, std::string_view key, std::string why);
  void Elsewhere(int line, std::string_view key, std::string why);
  Error Refuse(int line, std::string_view key, const std::string& why) const;

  void set_workspace(std::string path) { imported_.workspace = std::move(path); }
  Imported Take(SettingsKind kind) &&;

 private:
  const SettingsFile& file_;
  const Context& context_;
  Imported imported_;
};

// A table of theirs, or none. Keys that nobody asks for are noted by Rest.
class Section {
 public:
  Section(SettingsBuilder& builder, const Node* table, std::string prefix)
      : builder_(&builder), table_(table), prefix_(std::move(prefix)) {}

  bool present() const { return table_ != nullptr; }
  bool Holds(std::string_view key) const;
  std::string Name(std::string_view key) const { return prefix_ + std::string(key); }
  int LineOf(std::string_view key) const;

  Result<Section> Table(std::string_view key);
  Result<std::vector<Section>> Tables(std::string_view key);
  Result<std::vector<Said>> Texts(std::string_view key);
  Result<std::optional<Said>> Text(std::string_view key);
  // One of `words`.
  Result<std::optional<Said>> Word(std::string_view key, const std::vector<std::string>& words);
  Result<std::optional<bool>> Flag(std::string_view key);
  Result<std::optional<int>> Number(std::string_view key, int least, int most);
  // All members, whose names are the user's own.
  Result<std::vector<std::pair<std::string, Said>>> Pairs();

  // Note a key, if it is there.
  void Lost(std::string_view key, std::string why);
  void Elsewhere(std::string_view key, std::string why);
  // Notes every key that was not asked for.
  void Rest(const std::string& why, SettingsNote::Weight weight = SettingsNote::Weight::kLost);

 private:
  const Node* Take(std::string_view key);
  Error Expected(std::string_view key, const Node& node, std::string_view what) const;

  SettingsBuilder* builder_;
  const Node* table_;
  std::string prefix_;  // "sandbox.network."
  std::set<std::string, std::less<>> taken_;
};

// The readers, one file each.
Status ReadClaude(SettingsBuilder& builder, const Node& root);
Status ReadSrt(SettingsBuilder& builder, const Node& root);
Status ReadAgents(SettingsBuilder& builder, const Node& root);
Status ReadCodex(SettingsBuilder& builder, const Node& root);
Status ReadCursor(SettingsBuilder& builder, const Node& root);

// What Claude Code's sandbox and srt have in common; defined with srt's.
Status ReadSrtNetwork(SettingsBuilder& builder, Section network);
Status ReadSrtFilesystem(SettingsBuilder& builder, Section& filesystem, const std::string& base);
Status ReadSrtSwitches(SettingsBuilder& builder, Section& section);

}  // namespace cordon::policy
