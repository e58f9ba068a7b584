// cordon wrap-mcp [POLICY] [--] SERVER ARG…
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <thread>

#include "agent/leak_guard.h"
#include "agent/mode.h"
#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/outcome_text.h"
#include "cli/output.h"
#include "cli/run_request.h"
#include "mcp/wrap.h"

namespace cordon::cli {
namespace {

struct Options {
  RunFlags flags;
  std::vector<std::string> argv;
};

Result<sys::UniqueFd> EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  sys::UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return base::SystemError("signalfd", errno);
  return fd;
}

struct Pipe {
  sys::UniqueFd read_end, write_end;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno);
  return Pipe{sys::UniqueFd(ends[0]), sys::UniqueFd(ends[1])};
}

Result<Outcome> Run(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd stop, EndingSignals());
  CORDON_ASSIGN_OR_RETURN(session::Request request,
                          MakeRequest(options.flags, options.argv, Purpose::kRun));
  std::erase_if(request.environment,
                [](const auto& entry) { return agent::IsNestedAgentVariable(entry.first); });
  CORDON_ASSIGN_OR_RETURN(std::unique_ptr<agent::LeakGuard> guard,
                          agent::LeakGuard::Create(request.policy, request.environment));
  request.policy.leaks.scan = false;  // it is scanned here
  CORDON_ASSIGN_OR_RETURN(Pipe in, MakePipe());
  CORDON_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  Cancellation end;
  Result<Outcome> outcome = base::SystemError("run", ECANCELED);
  std::thread server([&] {
    outcome = session::RunOnce(request, {.streams = {in.read_end.get(), out.write_end.get(), 2},
                                         .output = spawn::OutputMode::kPass,
                                         .cancel_fd = end.fd()});
    in.read_end.reset();
    out.write_end.reset();
  });
  mcp::Wrap({.client_in = STDIN_FILENO,
             .client_out = STDOUT_FILENO,
             .server_in = std::move(in.write_end),
             .server_out = std::move(out.read_end),
             .stop = stop.get(),
             .server = end},
            guard.get(),
            [](std::string_view text) { Tell("cordon: " + base::Printable(text) + "\n"); });
  end.Cancel();
  server.join();
  return outcome;
}

}  // namespace

Action SetupWrapMcp(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddRunFlags(arguments, options->flags);
  arguments.Footer(
      "Starts an MCP server of somebody else's inside a sandbox, for a client that would have\n"
      "started it. Its stdio is passed through message by message; secrets in a call's arguments\n"
      "stop the call, secrets in its results are redacted (leaks.on_leak). Exit status: 0 after\n"
      "the client went away, otherwise as `cordon run`.");
  arguments.Command(options->argv);
  return [options] {
    Result<Strings> words = CommandOf(options->argv);
    if (words && words->empty()) {
      words = base::InvalidArgument(Reason::kUsage, "there is no server to start");
    }
    if (!words) return PrintError(words.error()), kExitUsage;
    options->argv = std::move(*words);
    Result<Outcome> outcome = Run(*options);
    if (!outcome) return PrintError(outcome.error()), kExitRefused;
    Tell(OutcomeNotice(*outcome));
    return outcome->kind == OutcomeKind::kCancelled ? kExitOk : outcome->ExitStatus();
  };
}

}  // namespace cordon::cli
