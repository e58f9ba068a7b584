// cordon export seatbelt [POLICY] -- CMD ARG…
#include <CLI/CLI.hpp>
#include <memory>

#include "backend/macos/seatbelt_profile.h"
#include "cli/command.h"
#include "cli/export_environment.h"
#include "cli/export_seatbelt.h"
#include "cli/output.h"
#include "cli/run_request.h"

namespace cordon::cli {
namespace {

struct Options {
  RunFlags flags;
  bool json = false;
  std::vector<std::string> argv;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

using Exporter = Result<std::string> (*)(const Options&);

// What nothing outside of `cordon run` keeps an eye on.
void AddWatched(const Policy& policy, std::vector<Enforcement>& enforcement) {
  if (policy.limits.wall_ms) {
    enforcement.push_back({"limits.wall", "", Level::kNone, "only `cordon run` keeps the time"});
  }
  if (policy.limits.output) {
    enforcement.push_back({"limits.output", "", Level::kNone, "only `cordon run` cuts output"});
  }
}

Result<std::string> Seatbelt(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(session::Request request, MakeRequest(options.flags, options.argv));
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(request));
  CORDON_ASSIGN_OR_RETURN(backend::SeatbeltProfile profile,
                          backend::MakeSeatbeltProfile(plan, {.temp = kTempPlaceholder}));
  AddWatched(request.policy, profile.enforcement);
  CORDON_TRY(CheckCarried(request.policy, profile.enforcement));
  return options.json ? SeatbeltJson(plan, profile) : SeatbeltScript(plan, profile);
}

int Run(const Options& options, Exporter exporter) {
  Result<std::string> text = exporter(options);
  if (!text) {
    PrintError(text.error(), options.form());
    return kExitRefused;
  }
  Print(*text);
  return kExitOk;
}

}  // namespace

Action SetupExport(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto chosen = std::make_shared<Action>();
  app.require_subcommand(1);
  app.prefix_command();
  auto add = [&](const char* name, const char* doc, Exporter exporter) {
    CLI::App* verb = app.add_subcommand(name, doc);
    AddRunFlags(*verb, options->flags);
    verb->add_flag("--json", options->json, "Print JSON");
    verb->prefix_command();
    verb->callback([options, chosen, verb, exporter, &app] {
      *chosen = [options, verb, exporter, &app] {
        // CLI11 ends a verb at "--" and leaves the rest to its parent.
        bool ended = verb->remaining().empty();
        Result<std::vector<std::string>> words = CommandWords(ended ? app : *verb);
        if (!words) {
          PrintError(words.error(), options->form());
          return kExitRefused;
        }
        options->argv = std::move(*words);
        return Run(*options, exporter);
      };
    });
    return verb;
  };
  add("seatbelt", "A script for macOS, with its Seatbelt profile", Seatbelt);
  app.footer(
      "Nothing is run. What the target cannot enforce is refused.\n"
      "Exit status: 0, or 125 where it is refused.");
  return [chosen] { return (*chosen)(); };
}

}  // namespace cordon::cli
