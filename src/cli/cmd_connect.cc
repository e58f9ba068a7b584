// cordon connect HOST PORT
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "plan/net_plan.h"
#include "proxy/connect_through.h"
#include "sys/process.h"

namespace cordon::cli {
namespace {

struct Options {
  std::string host;
  std::string port;
};

// Until the end of `from`, or until nobody takes what it says.
void Copy(int from, int to) {
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      ssize_t sent = write(to, buffer.data() + at, static_cast<size_t>(got - at));
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return;
      at += sent;
    }
  }
}

Result<int> ParsePort(const std::string& text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  auto [stop, failed] = std::from_chars(text.data(), end, port);
  if (failed == std::errc() && stop == end && port != 0) return port;
  return base::InvalidArgument(Reason::kUsage, base::Printable(text) + " is no port");
}

Result<sys::UniqueFd> Connect(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(int port, ParsePort(options.port));
  CORDON_ASSIGN_OR_RETURN(guard::Host host, guard::ParseHost(options.host));
  plan::Parent named = plan::ParentOf({}, sys::Environment());
  std::optional<proxy::ParentProxy> parent;
  if (!named.upstream.empty()) {
    CORDON_ASSIGN_OR_RETURN(parent, proxy::ParseParentProxy(named.upstream, named.no_proxy));
  }
  return proxy::ConnectThrough(parent, {std::move(host), port});
}

int Run(const Options& options) {
  auto connected = Connect(options);
  if (!connected) {
    PrintError(connected.error());
    return connected.error().reason == Reason::kUsage ? kExitUsage : kExitNegative;
  }
  int fd = connected->get();
  std::thread([fd] {
    Copy(STDIN_FILENO, fd);
    shutdown(fd, SHUT_WR);
  }).detach();
  Copy(fd, STDOUT_FILENO);
  _exit(kExitOk);  // whoever still reads stdin has nobody to tell it to
}

}  // namespace

Action SetupConnect(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.Required("HOST", options->host, "A name or an address");
  arguments.Required("PORT", options->port, "1 to 65535");
  arguments.Footer(
      "Its standard streams become a connection there, by the proxy of HTTPS_PROXY, ALL_PROXY or\n"
      "HTTP_PROXY (less NO_PROXY), or directly without one. For programs that want a command:\n"
      "ssh -o ProxyCommand='cordon connect %h %p' HOST\n"
      "Exit status: 0 the connection has ended, 1 it could not be made, 2 bad usage.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
