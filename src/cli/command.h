// How a subcommand plugs into main. One cmd_NAME.cc per subcommand holds an
// Options struct and a Setup function, declared here:
//
//   struct Options { bool json = false; };
//   Action SetupDoctor(Arguments& arguments) {
//     auto options = std::make_shared<Options>();
//     arguments.Flag("--json", options->json, "Print JSON");
//     return [options] { return Run(*options); };
//   }
//
// main calls the Setup of the subcommand that argv names, and of no other, so
// that start-up does not pay for the rest; then it parses and calls the Action.
#pragma once

#include "cli/arguments.h"

namespace cordon::cli {

// Exit statuses of Cordon itself; those of a run are the command's.
inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;  // denied, found, differs, not valid
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInternal = 70;  // EX_SOFTWARE
inline constexpr int kExitRefused = 125;  // could not or would not start the command

Action SetupRun(Arguments& arguments);
Action SetupShell(Arguments& arguments);
Action SetupExplain(Arguments& arguments);
Action SetupCheck(Arguments& arguments);
Action SetupScan(Arguments& arguments);
Action SetupPlan(Arguments& arguments);
Action SetupPolicy(Arguments& arguments);
Action SetupProxy(Arguments& arguments);
Action SetupConnect(Arguments& arguments);
Action SetupExport(Arguments& arguments);
Action SetupMcp(Arguments& arguments);
Action SetupStatus(Arguments& arguments);
Action SetupWrapMcp(Arguments& arguments);
Action SetupTool(Arguments& arguments);
Action SetupDoctor(Arguments& arguments);

}  // namespace cordon::cli
