// The POLICY flags that many subcommands share, and the policy they lead to.
//
//   auto flags = std::make_shared<PolicyFlags>();
//   AddPolicyFlags(arguments, *flags);
//   …
//   Result<LoadedPolicy> loaded = LoadPolicy(*flags);
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cordon/policy.h"
#include "cordon/result.h"
#include "policy/layers.h"
#include "policy/settings.h"

namespace cordon::cli {

struct PolicyFlags {
  std::vector<std::string> files;               // --policy
  std::string variable;                         // --policy-env
  std::vector<std::string> presets;             // --preset
  std::string workspace;                        // --workspace; empty: the current directory
  std::string backend;                          // --backend
  std::vector<std::string> settings;            // --settings: [KIND:]FILE
  std::string agent;                            // --agent: which of the settings' agents
  std::vector<policy::Assignment> assignments;  // all others, in the order of the keys
};

// Binds the flags; `flags` must outlive the parse.
void AddPolicyFlags(Arguments& arguments, PolicyFlags& flags);

// Whether the workspace was named or is just where we are.
enum class WorkspaceChoice { kImplied, kNamed };

struct LoadedPolicy {
  policy::Context context;
  WorkspaceChoice workspace_choice = WorkspaceChoice::kImplied;
  Policy policy;
  policy::LayerInputs layers;              // as they were read
  std::vector<std::string> files;          // --settings, then --policy, as real paths
  std::vector<policy::Imported> imported;  // of the settings

  const policy::Source& FileLayer(size_t i) const {
    return layers.user_and_files[layers.user_and_files.size() - files.size() + i];
  }
};

// $HOME, the real path of the workspace and the environment.
Result<policy::Context> MakeContext(const PolicyFlags& flags);

// Where the administrator's file is; tests put it elsewhere.
struct PolicyPlaces {
  std::string admin_file = "/etc/cordon/policy.toml";
};

// A tool's settings, read by the rules of a --policy file.
struct SettingsRequest {
  std::string path;
  policy::SettingsKind kind = policy::SettingsKind::kAuto;
  std::string agent;
};
// "codex:FILE" or "FILE".
SettingsRequest ParseSettingsRequest(std::string_view text, std::string agent);
Result<policy::Imported> ImportFile(SettingsRequest request, const policy::Context& context);

// Reads all the layers' files and stacks them. A --policy or --settings file that
// lies in a writable root is kPolicyUntrusted unless its digest is trusted. The
// workspace is the agent's of the settings, if there is one and none was named.
Result<LoadedPolicy> LoadPolicy(const PolicyFlags& flags, const PolicyPlaces& places = {});

// The same files again while a command runs by `first`. It may have written what lies
// in its writable roots: a file there that has changed is kPolicyUntrusted unless
// its digest is trusted, .cordon.toml is not read again, and a link is not followed
// to elsewhere.
Result<LoadedPolicy> LoadPolicyAgain(const PolicyFlags& flags, const LoadedPolicy& first,
                                     const PolicyPlaces& places = {});

}  // namespace cordon::cli
