// All that was said about one run, in its order, → one Policy.
//
//   administrator's file   a ceiling: the result is composed below it
//   presets                named by the last layer that names any
//   user's and --policy files, then flags      each extends
//   .cordon.toml           narrows, or extends once its digest is trusted
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cordon/policy.h"
#include "cordon/result.h"
#include "policy/document.h"
#include "policy/reader.h"
#include "policy/values.h"

namespace cordon::policy {

struct Source {
  std::string name;  // of the file, for messages and origins
  std::string text;
  Format format = Format::kToml;
  std::optional<Node> parsed;  // what `text` says, where it is no policy: see settings.h
};

enum class WorkspaceFileTrust { kUntrusted, kTrusted };

struct LayerInputs {
  std::optional<Source> admin;
  std::optional<Source> whole;         // a policy in full, in place of presets and files
  std::vector<Source> user_and_files;  // ~/.config/cordon/policy.toml, then --policy files
  std::vector<std::string> presets_from_flags;
  std::vector<Assignment> flags;
  std::optional<Source> workspace_file;
  WorkspaceFileTrust workspace_file_trust = WorkspaceFileTrust::kUntrusted;
};

// The administrator's lists say all that may be had, so they replace the
// "everything" they are read onto; net.allow without net.mode means `proxy`,
// env.pass without env.mode `clean`. An untrusted .cordon.toml cannot choose the
// preset, and what is no permission but reaches outside (net.upstream,
// net.external, net.tls.ca, net.credential, audit.log) is not taken from it.
Result<Policy> Stack(const LayerInputs& inputs, const Context& context);

}  // namespace cordon::policy
