// cordon run [POLICY] [--] CMD ARG… and cordon shell [POLICY]
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/outcome_text.h"
#include "cli/output.h"
#include "cli/run_request.h"
#include "sys/process.h"

namespace cordon::cli {
namespace {

struct Options {
  RunFlags flags;
  bool json = false;
  std::vector<std::string> argv;
  plan::Terminal terminal = plan::Terminal::kStreams;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

unsigned TerminalStreams() {
  unsigned streams = 0;
  for (int stream = 0; stream < 3; ++stream) {
    if (isatty(stream) != 0) streams |= 1u << stream;
  }
  return streams;
}

Result<Outcome> Run(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(session::Request request,
                          MakeRequest(options.flags, options.argv, Purpose::kRun));
  if (unsigned streams = options.json ? 0 : TerminalStreams(); streams != 0) {
    request.terminal = options.terminal;
    request.terminal_streams = streams;
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
    Tell(OutcomeNotice(*outcome));
  }
  return outcome->ExitStatus();
}

}  // namespace

Action SetupRun(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddRunFlags(arguments, options->flags);
  arguments.Flag("--json", options->json, "Capture the output and print the outcome as JSON");
  arguments.Footer(
      "Exit status: the command's own; 124 timed out; 125 Cordon could not or would not start it;\n"
      "126 and 127 as a shell; 128+n ended by signal n. Without --policy and --preset the preset\n"
      "`workspace` holds: read the host but no credentials, write here and in a private /tmp.");
  arguments.Command(options->argv);
  return [options] {
    Result<Strings> words = CommandOf(options->argv);
    if (!words) return Report(*options, std::move(words).error());
    options->argv = std::move(*words);
    return Report(*options, Run(*options));
  };
}

Action SetupShell(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddRunFlags(arguments, options->flags);
  arguments.Footer(
      "The shell is $SHELL, on a terminal of its own. Flags and exit status as `cordon run`.");
  return [options] {
    const char* shell = getenv("SHELL");
    options->argv = {shell != nullptr && shell[0] == '/' ? shell : "/bin/sh"};
    options->terminal = plan::Terminal::kControlling;
    return Report(*options, Run(*options));
  };
}

}  // namespace cordon::cli
