// config.toml of agent frameworks: [sandbox] mode is the preset of the same
// name; [[agents]] have a workspace and a data directory each below the
// directory that the file lies in, and [agents.sandbox].
#include <algorithm>

#include "base/strings.h"
#include "guard/path.h"
#include "policy/settings_builder.h"

namespace cordon::policy {
namespace {

using Modes = std::vector<std::string>;

constexpr char kElsewhere[] = "not about the sandbox";

struct Instance {
  std::string directory;
  std::string preset = "sandbox";
  int preset_line = 0;
};

std::string Below(const Instance& instance, const std::string& rest) {
  return guard::JoinPath(instance.directory, rest);
}

// Of the agent's directories, what it must not touch.
Status Protect(SettingsBuilder& builder, const std::string& path, int line) {
  for (const char* key : {"fs.deny_read", "fs.deny_write", "fs.deny_new"}) {
    CORDON_TRY(builder.AddDeniedPath(key, {guard::EscapeGlob(path), line}, ".", "agents"));
  }
  return {};
}

Status ReadSandbox(SettingsBuilder& builder, Section sandbox, Instance& instance) {
  const Modes modes = {"enabled", "disabled", "sandbox", "rx", "rwx"};
  CORDON_ASSIGN_OR_RETURN(auto mode, sandbox.Word("mode", modes));
  if (mode && mode->text != "enabled") {
    instance.preset = mode->text == "disabled" ? "rwx" : mode->text;
    instance.preset_line = mode->line;
  }
  if (mode && mode->text == "disabled") {
    builder.Elsewhere(mode->line, sandbox.Name("mode"),
                      "no sandbox at all there; preset rwx still has the floor");
  }
  bool writes = instance.preset != "rx";
  CORDON_ASSIGN_OR_RETURN(auto writable, sandbox.Texts("writable_paths"));
  for (const Said& path : writable) {
    builder.AddPath(writes ? "fs.write" : "fs.read", path, instance.directory,
                    sandbox.Name("writable_paths"));
  }
  CORDON_ASSIGN_OR_RETURN(auto readable, sandbox.Texts("readable_paths"));
  for (const Said& path : readable) {
    builder.AddPath("fs.read", path, instance.directory, sandbox.Name("readable_paths"));
  }
  CORDON_ASSIGN_OR_RETURN(auto passed, sandbox.Texts("passthrough_env"));
  for (const Said& name : passed) {
    if (Status good = CheckEnvName(name.text); !good) {
      return builder.Refuse(name.line, sandbox.Name("passthrough_env"), good.error().message);
    }
    builder.Add("env.pass", name);
  }
  sandbox.Elsewhere("require_containment", "what cannot be enforced refuses the run");
  sandbox.Rest("not known");
  return {};
}

struct Agent {
  std::string id;
  int line = 0;
  Section section;
};

Result<std::vector<Agent>> ListAgents(SettingsBuilder& builder, Section& top) {
  CORDON_ASSIGN_OR_RETURN(auto sections, top.Tables("agents"));
  std::vector<Agent> agents;
  for (Section& section : sections) {
    CORDON_ASSIGN_OR_RETURN(auto id, section.Text("id"));
    bool plain = id && id->text.find('/') == id->text.npos && id->text != "." && id->text != "..";
    if (!plain) return builder.Refuse(id ? id->line : 0, "agents.id", "expected a plain name");
    agents.push_back({id->text, id->line, std::move(section)});
  }
  return agents;
}

Result<Agent*> Choose(const SettingsBuilder& builder, std::vector<Agent>& agents) {
  const std::string& wanted = builder.file().agent;
  std::vector<std::string> ids;
  for (Agent& agent : agents) {
    if (agent.id == wanted || (wanted.empty() && agents.size() == 1)) return &agent;
    ids.push_back(agent.id);
  }
  if (wanted.empty() && agents.empty()) return nullptr;
  Error error = builder.Refuse(
      0, "agents",
      wanted.empty() ? "several agents, and none is chosen" : "no agent \"" + wanted + "\"");
  error.hint = "--agent takes one of " + base::Join(ids, " ");
  return error;
}

Status ReadAgent(SettingsBuilder& builder, Agent& agent, Instance& instance) {
  std::string home = Below(instance, "agents/" + agent.id);
  CORDON_ASSIGN_OR_RETURN(auto workspace, agent.section.Text("workspace"));
  std::string place = guard::JoinPath(home, "workspace");
  if (workspace) place = guard::JoinPath(instance.directory, workspace->text);
  builder.set_workspace(guard::NormalizePath(place));
  CORDON_ASSIGN_OR_RETURN(Section sandbox, agent.section.Table("sandbox"));
  CORDON_TRY(ReadSandbox(builder, std::move(sandbox), instance));
  builder.Set("fs.data_dir", FormatPath({.path = home}), agent.line);
  builder.AddPath("fs.read", {guard::EscapeGlob(Below(instance, "tools/bin"))}, ".", "tools/bin");
  if (instance.preset == "sandbox") {
    builder.Elsewhere(0, "the network", "open there; here it is the preset's list of hosts");
  }
  agent.section.Rest(kElsewhere, SettingsNote::Weight::kElsewhere);
  return {};
}

Result<Instance> ReadInstance(SettingsBuilder& builder, Section& top) {
  Instance instance{.directory = std::string(guard::Parent(builder.file().path))};
  CORDON_ASSIGN_OR_RETURN(Section sandbox, top.Table("sandbox"));
  CORDON_ASSIGN_OR_RETURN(auto mode, sandbox.Word("mode", {"sandbox", "rx", "rwx"}));
  if (mode) {
    instance.preset = mode->text;
    instance.preset_line = mode->line;
  }
  sandbox.Rest("not known");
  return instance;
}

}  // namespace

Status ReadAgents(SettingsBuilder& builder, const Node& root) {
  Section top(builder, &root, "");
  CORDON_ASSIGN_OR_RETURN(Instance instance, ReadInstance(builder, top));
  CORDON_ASSIGN_OR_RETURN(auto agents, ListAgents(builder, top));
  CORDON_ASSIGN_OR_RETURN(Agent * chosen, Choose(builder, agents));
  if (chosen != nullptr) {
    CORDON_TRY(ReadAgent(builder, *chosen, instance));
    for (const Agent& other : agents) {
      if (&other != chosen) {
        CORDON_TRY(Protect(builder, Below(instance, "agents/" + other.id), other.line));
      }
    }
    CORDON_TRY(Protect(builder, builder.file().path, 0));
    CORDON_TRY(Protect(builder, Below(instance, "data"), 0));
  } else {
    if (instance.preset != "rwx") builder.set_workspace(Below(instance, "workspace"));
    builder.Set("fs.data_dir", FormatPath({.path = instance.directory}));
  }
  builder.Set("preset", instance.preset, instance.preset_line);
  top.Rest(kElsewhere, SettingsNote::Weight::kElsewhere);
  return {};
}

}  // namespace cordon::policy
