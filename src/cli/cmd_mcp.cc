// cordon mcp [POLICY] [--http PORT]
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/strings.h"
#include "cli/agent_setup.h"
#include "cli/command.h"
#include "cli/output.h"
#include "mcp/http.h"
#include "mcp/stdio.h"
#include "policy/render.h"
#include "session/egress.h"

namespace cordon::cli {
namespace {

constexpr char kTokenVariable[] = "CORDON_MCP_TOKEN";
constexpr size_t kAuditTail = 64 * 1024;

struct Options {
  AgentFlags flags;
  std::string http;  // a port; empty: stdio
};

// SIGTERM, SIGINT and SIGHUP end the server in order.
Result<sys::UniqueFd> EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  sys::UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return base::SystemError("signalfd", errno);
  return fd;
}

mcp::Offer MakeOffer(const AgentFlags& flags, const agent::Toolbox& box) {
  const agent::Workbench& bench = box.bench();
  mcp::Offer offer{
      .version = CORDON_VERSION,
      .constraints = agent::ConstraintText(ModeOf(flags), bench.policy(), bench.workspace()),
      .policy = [&bench] { return policy::RenderToml(bench.policy()); }};
  if (bench.audit() != nullptr) {
    offer.audit_tail = [&bench] { return bench.audit()->Tail(kAuditTail); };
  }
  return offer;
}

Result<std::string> Token() {
  if (const char* given = getenv(kTokenVariable); given != nullptr && given[0] != '\0') {
    return std::string(given);
  }
  std::array<unsigned char, 24> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != ssize_t{24}) {
    return base::SystemError("getrandom", errno);
  }
  std::string token;
  for (unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  Tell(fmt::format("cordon: the token is {}\n", token));
  return token;
}

Status ServeHttp(const Options& options, agent::Toolbox& box, const mcp::Offer& offer, int stop) {
  int port = 0;
  const char* end = options.http.data() + options.http.size();
  auto [next, error] = std::from_chars(options.http.data(), end, port);
  if (error != std::errc() || next != end || port < 0 || port > 65535) {
    return base::InvalidArgument(Reason::kUsage, "--http takes a port, 0 for any");
  }
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd listener, session::ListenOnLoopback(port));
  mcp::HttpOptions http;
  CORDON_ASSIGN_OR_RETURN(http.port, session::PortOf(listener));
  CORDON_ASSIGN_OR_RETURN(http.token, Token());
  Tell(fmt::format("cordon: MCP on http://127.0.0.1:{}/mcp\n", http.port));
  return mcp::ServeHttp(box, offer, http, std::move(listener), stop);
}

void TellStart(const AgentFlags& flags, const agent::Workbench& bench) {
  auto state = agent::ContainmentOf(host::BackendName(bench.backend()), bench.enforcement());
  Tell(fmt::format("cordon: mode {} ({}), backend {}, containment {}, workspace {}\n",
                   agent::ModeName(ModeOf(flags)), agent::ModeDisplayName(ModeOf(flags)),
                   host::BackendName(bench.backend()), agent::ContainmentStateName(state),
                   base::Printable(bench.workspace())));
}

Status Serve(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd stop, EndingSignals());
  // The protocol's stdout is not where anybody else may write.
  sys::UniqueFd out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  sys::UniqueFd in(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  sys::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!out.valid() || !in.valid() || !null.valid()) return base::SystemError("dup", errno);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  dup2(null.get(), STDIN_FILENO);
  CORDON_ASSIGN_OR_RETURN(std::unique_ptr<agent::Toolbox> box,
                          MakeToolbox(options.flags, agent::Workbench::Lifetime::kServer));
  TellStart(options.flags, box->bench());
  mcp::Offer offer = MakeOffer(options.flags, *box);
  if (!options.http.empty()) return ServeHttp(options, *box, offer, stop.get());
  mcp::ServeStdio(*box, offer, in.get(), out.get(), stop.get());
  return {};
}

}  // namespace

Action SetupMcp(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddAgentFlags(arguments, options->flags);
  arguments.Option("--http", options->http, "PORT",
                   "Serve HTTP on this port of 127.0.0.1 instead of stdio; 0 takes any");
  arguments.Footer(
      "A client starts it as a stdio server: command `cordon`, arguments `mcp` and the policy's\n"
      "flags. Over HTTP every request must bear the token of CORDON_MCP_TOKEN, or the one that\n"
      "is told on stderr. stdout is the protocol and nothing else.\n"
      "Exit status: 0 the client went away, 2 bad usage, 125 no command could be run.");
  return [options] {
    Status served = Serve(*options);
    if (served) return kExitOk;
    PrintError(served.error());
    return served.error().reason == Reason::kUsage ? kExitUsage : kExitRefused;
  };
}

}  // namespace cordon::cli
