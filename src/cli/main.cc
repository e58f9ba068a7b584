// Wiring only: finds the subcommand, lets it set up its flags, runs it.
#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "sys/process.h"

namespace cordon::cli {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view usage;
  std::string_view summary;
  Action (*setup)(Arguments&);
};

// In the order of the help text.
constexpr Subcommand kSubcommands[] = {
    {"run", "[OPTIONS] [--] CMD [ARG…]", "Run one command contained", SetupRun},
    {"shell", "[OPTIONS]", "An interactive shell inside", SetupShell},
    {"explain", "[OPTIONS] read|write|exec PATH | connect HOST[:PORT]",
     "May it? By which rule? What would allow it?", SetupExplain},
    {"check", "[OPTIONS] path|url|env|command VALUE|-", "Ask a guard about one value", SetupCheck},
    {"scan", "[OPTIONS] [FILE|DIR|-]…", "Find leaked secrets in files, folders and streams",
     SetupScan},
    {"plan", "[OPTIONS] [--] CMD [ARG…]", "What a run would do; nothing is run", SetupPlan},
    {"policy", "show|check|diff|schema|init|trust", "Show, check, compare, start, trust policies",
     SetupPolicy},
    {"proxy", "[OPTIONS] --listen ADDR:PORT", "The egress proxy alone, HTTP and SOCKS5 on one port",
     SetupProxy},
    {"connect", "HOST PORT", "A connection by the proxy of the environment, for ProxyCommand",
     SetupConnect},
    {"export", "seatbelt|oci DIR|k8s [OPTIONS] [--] CMD [ARG…]",
     "The same boundary for another engine", SetupExport},
    {"tool", "[OPTIONS] NAME | list | install FILE", "One tool call, from JSON on stdin",
     SetupTool},
    {"mcp", "[OPTIONS]", "The tools as an MCP server", SetupMcp},
    {"wrap-mcp", "[OPTIONS] [--] SERVER [ARG…]", "Another's MCP server, contained", SetupWrapMcp},
    {"status", "[OPTIONS]", "What an agent started here would have", SetupStatus},
    {"doctor", "[--json]", "What this host can enforce, and how to get the rest", SetupDoctor},
};

std::string Help() {
  std::string text =
      "cordon runs an agent's command inside boundaries the kernel enforces.\n\n"
      "Usage: cordon SUBCOMMAND [OPTIONS]\n\nSubcommands:\n";
  for (const Subcommand& command : kSubcommands) {
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  }
  return text + "\n`cordon SUBCOMMAND --help` tells more; `cordon --version` the version.\n";
}

int UnknownSubcommand(std::string_view name) {
  std::vector<std::string> names;
  for (const Subcommand& command : kSubcommands) names.emplace_back(command.name);
  Tell(fmt::format("cordon: unknown subcommand \"{}\"\n", base::Printable(name)));
  if (auto near = base::Nearest(name, names)) {
    Tell(fmt::format("  did you mean \"{}\"?\n", *near));
  }
  return kExitUsage;
}

int RunSubcommand(const Subcommand& command, const Strings& words) {
  Arguments arguments("cordon " + std::string(command.name), command.usage, command.summary);
  Action action = command.setup(arguments);
  if (std::optional<int> status = arguments.Parse(words)) return *status;
  return action();
}

int Main(int argc, char** argv) {
  std::string_view name = argc > 1 ? argv[1] : "";
  if (name.empty()) {
    Tell(Help());
    return kExitUsage;
  }
  if (name == "--help" || name == "-h" || name == "help") {
    Print(Help());
    return kExitOk;
  }
  if (name == "--version") {
    Print("cordon " CORDON_VERSION "\n");
    return kExitOk;
  }
  auto found = std::find_if(std::begin(kSubcommands), std::end(kSubcommands),
                            [&](const Subcommand& command) { return command.name == name; });
  if (found == std::end(kSubcommands)) return UnknownSubcommand(name);
  return RunSubcommand(*found, Strings(argv + 2, argv + argc));
}

}  // namespace
}  // namespace cordon::cli

int main(int argc, char** argv) {
  cordon::sys::ReserveStandardStreams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error value
  mallopt(M_ARENA_MAX, 1);        // an arena per thread costs more than it saves here
  int status = cordon::cli::kExitInternal;
  try {
    status = cordon::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cordon: internal error: %s\n", error.what());
  } catch (...) {
    std::fputs("cordon: internal error\n", stderr);
  }
#ifdef NDEBUG
  std::fflush(nullptr);
  _exit(status);  // what is torn down at exit, the kernel does faster
#else
  return status;
#endif
}
