// What `tool`, `mcp` and `status` share: the flags that lead to a toolbox.
#pragma once

#include <memory>
#include <string>

#include "agent/mode.h"
#include "agent/toolbox.h"
#include "cli/run_request.h"

namespace cordon::cli {

struct AgentFlags {
  RunFlags run;
  std::string role = "worker";
  std::string tools;    // names with commas between; empty: all of the role
  std::string mode;     // sandbox, rx or rwx: a preset by another name
  std::string approve;  // empty: no approvals but for what is not contained
  std::string hook;     // a command line; empty: none
  bool sub_agent = false;
  bool allow_root = false;
};

// Binds the flags; `flags` must outlive the parse.
void AddAgentFlags(Arguments& arguments, AgentFlags& flags);

// A process of root's is refused unless the flags allow it, and has given up root after
// this. The workspace is made if it is named and not there.
Result<std::unique_ptr<agent::Toolbox>> MakeToolbox(const AgentFlags& flags,
                                                    agent::Workbench::Lifetime lifetime);

// The mode by the presets of the flags.
agent::Mode ModeOf(const AgentFlags& flags);

}  // namespace cordon::cli
