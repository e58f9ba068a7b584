// cordon status [POLICY]
#include <fmt/core.h>

#include <memory>

#include "base/strings.h"
#include "cli/agent_setup.h"
#include "cli/command.h"
#include "cli/output.h"

namespace cordon::cli {
namespace {

using agent::Json;

struct Options {
  AgentFlags flags;
  bool json = false;
};

int Run(const Options& options) {
  AgentFlags flags = options.flags;
  flags.allow_root = true;  // to ask is not to serve
  auto box = MakeToolbox(flags, agent::Workbench::Lifetime::kOneCall);
  if (!box) {
    PrintError(box.error(), options.json ? OutputForm::kJson : OutputForm::kText);
    return kExitRefused;
  }
  const agent::Workbench& bench = (*box)->bench();
  agent::Mode mode = ModeOf(flags);
  auto state = agent::ContainmentOf(host::BackendName(bench.backend()), bench.enforcement());
  Json enforcement = Json::object();
  std::string lacking;
  for (const Enforcement& item : bench.enforcement()) {
    enforcement[item.feature] = LevelName(item.level);
    if (item.level == Level::kFull || item.feature.starts_with("limits.")) continue;
    lacking += fmt::format("  {:<12} {}: {}\n", item.feature, LevelName(item.level), item.note);
  }
  if (options.json) {
    Json json = {{"mode", agent::ModeName(mode)},
                 {"display_name", agent::ModeDisplayName(mode)},
                 {"backend", host::BackendName(bench.backend())},
                 {"containment", agent::ContainmentStateName(state)},
                 {"containment_active", state == agent::ContainmentState::kActive},
                 {"workspace", base::Printable(bench.workspace())},
                 {"approve", flags.approve},
                 {"constraints", agent::ConstraintText(mode, bench.policy(), bench.workspace())},
                 {"enforcement", std::move(enforcement)}};
    Print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    Print(fmt::format("mode         {} ({})\nbackend      {}\ncontainment  {}\nworkspace    {}\n{}",
                      agent::ModeName(mode), agent::ModeDisplayName(mode),
                      host::BackendName(bench.backend()), agent::ContainmentStateName(state),
                      base::Printable(bench.workspace()),
                      lacking.empty() ? "" : "not in full:\n" + lacking));
  }
  return state == agent::ContainmentState::kActive ? kExitOk : kExitNegative;
}

}  // namespace

Action SetupStatus(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddAgentFlags(arguments, options->flags);
  arguments.Flag("--json", options->json, "Print JSON");
  arguments.Footer(
      "What an agent started here with these flags would have: what was asked for and what holds\n"
      "are two things. Exit status: 0 containment is active, 1 it is partial, inert or disabled,\n"
      "125 no command could be run.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
