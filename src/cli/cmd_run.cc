// cordon run [POLICY] [--] CMD ARG… and cordon shell [POLICY]
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>

#include "backend/test_hooks.h"
#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/outcome_text.h"
#include "cli/output.h"
#include "cli/policy_flags.h"
#include "guard/path.h"
#include "session/session.h"
#include "sys/process.h"

namespace cordon::cli {
namespace {

struct Options {
  PolicyFlags flags;
  bool json = false;
  bool no_floor = false;
  std::string user;
  std::vector<std::string> argv;
  plan::Terminal terminal = plan::Terminal::kStreams;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

Result<session::Unprivileged> ParseUser(const std::string& text) {
  session::Unprivileged user;
  if (text.empty()) return user;
  const char* end = text.data() + text.size();
  auto [next, error] = std::from_chars(text.data(), end, user.uid);
  user.gid = user.uid;
  bool valid = error == std::errc();
  if (valid && next != end && *next == ':') {
    auto [last, group_error] = std::from_chars(next + 1, end, user.gid);
    valid = group_error == std::errc() && last == end;
  } else {
    valid = valid && next == end;
  }
  if (!valid || user.uid == 0 || user.gid == 0) {
    return base::InvalidArgument(Reason::kUsage, "--user takes UID or UID:GID, neither of them 0");
  }
  return user;
}

unsigned TerminalStreams() {
  unsigned streams = 0;
  for (int stream = 0; stream < 3; ++stream) {
    if (isatty(stream) != 0) streams |= 1u << stream;
  }
  return streams;
}

Result<session::Request> MakeRequest(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(options.flags));
  bool named = loaded.workspace_choice == WorkspaceChoice::kNamed;
  session::Request request{
      .policy = std::move(loaded.policy),
      .workspace = loaded.context.workspace,
      .workspace_chosen =
          named ? session::Request::Chosen::kNamed : session::Request::Chosen::kImplied,
      .argv = options.argv,
      .environment = std::move(loaded.context.env),
      .floor = options.no_floor ? plan::FsInputs::Floor::kOff : plan::FsInputs::Floor::kOn};
  // A named workspace need not be where we are; if we are inside it, we stay.
  if (char* here = get_current_dir_name()) {
    if (guard::IsInside(here, request.workspace)) request.directory = here;
    free(here);
  }
  if (unsigned streams = options.json ? 0 : TerminalStreams(); streams != 0) {
    request.terminal = options.terminal;
    request.terminal_streams = streams;
  }
  return request;
}

Result<Outcome> Run(const Options& options) {
  if (!options.flags.backend.empty() && options.flags.backend != "namespaces") {
    return base::Unsupported("--backend " + base::Printable(options.flags.backend) +
                             " is not supported yet");
  }
  CORDON_ASSIGN_OR_RETURN(session::Unprivileged user, ParseUser(options.user));
  CORDON_ASSIGN_OR_RETURN(session::Request request, MakeRequest(options));
  if (geteuid() == 0) {
    if (!backend::TestHookOff("root")) CORDON_TRY(session::LeaveRoot(request, user));
  } else if (!options.user.empty()) {
    return base::InvalidArgument(Reason::kUsage, "--user is for a run started by root");
  }
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd signals, sys::SignalsToPass());
  spawn::OutputMode output = options.json                   ? spawn::OutputMode::kCapture
                             : request.policy.limits.output ? spawn::OutputMode::kRelay
                                                            : spawn::OutputMode::kPass;
  return session::RunOnce(
      request,
      {.output = output, .signal_fd = signals.get(), .self = spawn::SelfProtection::kSealed});
}

int Report(const Options& options, const Result<Outcome>& outcome) {
  if (!outcome) {
    PrintError(outcome.error(), options.form());
    return kExitRefused;
  }
  if (options.json) {
    Print(OutcomeJson(*outcome));
  } else {
    fmt::print(stderr, "{}", OutcomeNotice(*outcome));
  }
  return outcome->ExitStatus();
}

void AddCommonFlags(CLI::App& app, Options& options) {
  AddPolicyFlags(app, options.flags);
  app.add_option("--user", options.user, "Started by root: run as UID[:GID] (default: nobody)");
  app.add_flag("--no-floor", options.no_floor, "Lift the floor; the record says so");
}

}  // namespace

Action SetupRun(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddCommonFlags(app, *options);
  app.add_flag("--json", options->json, "Capture the output and print the outcome as JSON");
  app.footer("cordon run [OPTIONS] [--] CMD [ARG…]");
  app.prefix_command();
  return [options, &app] {
    options->argv = app.remaining();
    if (!options->argv.empty() && options->argv[0] == "--") {
      options->argv.erase(options->argv.begin());
    }
    return Report(*options, Run(*options));
  };
}

Action SetupShell(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddCommonFlags(app, *options);
  app.footer("cordon shell [OPTIONS]");
  return [options] {
    const char* shell = getenv("SHELL");
    options->argv = {shell != nullptr && shell[0] == '/' ? shell : "/bin/sh"};
    options->terminal = plan::Terminal::kControlling;
    return Report(*options, Run(*options));
  };
}

}  // namespace cordon::cli
