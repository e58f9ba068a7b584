#include "cli/agent_setup.h"

#include <unistd.h>

#include "base/error.h"
#include "base/strings.h"
#include "sys/process.h"

namespace cordon::cli {
namespace {

Status CheckRoot(const AgentFlags& flags) {
  if (geteuid() != 0 || flags.allow_root) return {};
  return base::InvalidArgument(Reason::kUsage, "an agent's tools are not served by root",
                               "start it as an ordinary user, or say --allow-root: the tools then "
                               "run as nobody, or as --user");
}

}  // namespace

void AddAgentFlags(Arguments& arguments, AgentFlags& flags) {
  AddRunFlags(arguments, flags.run);
  arguments.Option("--role", flags.role, "worker|chat",
                   "Which tools: worker (default), or chat, which may also send files");
  arguments.Option("--tools", flags.tools, "NAME,…", "Only these tools");
  arguments.Option("--mode", flags.mode, "sandbox|rx|rwx", "The preset of that name");
  arguments.Option("--approve", flags.approve, "auto|safe|plan",
                   "Ask a person about what destroys, about all changes, or only look");
  arguments.Option("--hook", flags.hook, "COMMAND",
                   "Asked before every call: gets it as JSON, may allow, deny or change it");
  arguments.Flag("--sub-agent", flags.sub_agent, "Nobody can be asked: what would be, is denied");
  arguments.Flag("--allow-root", flags.allow_root,
                 "Let root start it; the tools run as nobody, or as --user");
}

agent::Mode ModeOf(const AgentFlags& flags) {
  std::vector<std::string> presets = flags.run.policy.presets;
  if (!flags.mode.empty()) presets.push_back(flags.mode);
  return agent::ModeOf(presets);
}

Result<std::unique_ptr<agent::Toolbox>> MakeToolbox(const AgentFlags& flags,
                                                    agent::Workbench::Lifetime lifetime) {
  CORDON_TRY(CheckRoot(flags));
  agent::ToolboxOptions options;
  CORDON_ASSIGN_OR_RETURN(options.role, agent::ParseRole(flags.role));
  if (!flags.tools.empty()) options.only = base::Split(flags.tools, ',');
  if (!flags.approve.empty()) {
    CORDON_ASSIGN_OR_RETURN(options.approval, agent::ParseApprovalMode(flags.approve));
  }
  if (flags.sub_agent) options.agent = agent::AgentKind::kSubAgent;
  options.hook = flags.hook;
  RunFlags run = flags.run;
  if (!flags.mode.empty()) {
    if (agent::ModeOf({flags.mode}) == agent::Mode::kCustom) {
      return base::InvalidArgument(Reason::kUsage, "a mode is sandbox, rx or rwx, not \"" +
                                                       base::Printable(flags.mode) + "\"");
    }
    run.policy.presets.insert(run.policy.presets.begin(), flags.mode);
  }
  const std::string& workspace = run.policy.workspace;
  if (!workspace.empty() && access(workspace.c_str(), F_OK) != 0) {
    CORDON_TRY(sys::MakeDirectories(workspace));
  }
  CORDON_ASSIGN_OR_RETURN(session::Request request, MakeRequest(run, {"true"}, Purpose::kRun));
  std::string tools = agent::ToolsDirectory(request.policy, request.environment);
  CORDON_ASSIGN_OR_RETURN(agent::Workbench bench,
                          agent::Workbench::Create(std::move(request), tools, lifetime));
  return agent::Toolbox::Create(std::move(bench), options);
}

}  // namespace cordon::cli
