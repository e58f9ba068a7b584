// How a subcommand plugs into main. One cmd_NAME.cc per subcommand holds an
// Options struct and a Setup function, declared here:
//
//   struct Options { bool json = false; };
//   Action SetupDoctor(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     app.add_flag("--json", options->json, "Print JSON");
//     return [options] { return Run(*options); };
//   }
//
// main calls the Setup of the subcommand that argv names, and of no other, so
// that start-up does not pay for the rest; then it parses and calls the Action.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace cordon::cli {

// Runs the subcommand after its arguments were parsed; returns the exit status.
using Action = std::function<int()>;

// Exit statuses of Cordon itself; those of a run are the command's.
inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;  // denied, found, differs, not valid
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInternal = 70;  // EX_SOFTWARE
inline constexpr int kExitRefused = 125;  // could not or would not start the command

Action SetupRun(CLI::App& app);
Action SetupShell(CLI::App& app);
Action SetupExplain(CLI::App& app);
Action SetupCheck(CLI::App& app);
Action SetupPlan(CLI::App& app);
Action SetupPolicy(CLI::App& app);
Action SetupProxy(CLI::App& app);
Action SetupExport(CLI::App& app);
Action SetupDoctor(CLI::App& app);

}  // namespace cordon::cli
