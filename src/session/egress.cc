#include "session/egress.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "backend/linux/net_ops.h"
#include "base/error.h"
#include "spawn/inside.h"

namespace cordon::session {
namespace {

// Distinct denials; a flood of names adds no more.
constexpr size_t kMostViolations = 1000;

Result<sys::UniqueFd> ListenOnLoopback(int port) {
  sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int on = 1;
  if (!fd.valid() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return base::SystemError("net.publish: listen on 127.0.0.1:" + std::to_string(port), errno,
                             Reason::kSetupFailed);
  }
  return fd;
}

// Each takes up to four descriptors; the broker needs some too.
size_t MostConnections() {
  constexpr size_t kMost = 4096, kOthers = 128, kEach = 4;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  size_t free = limit.rlim_cur > kOthers ? limit.rlim_cur - kOthers : 0;
  return std::clamp<size_t>(free / kEach, 1, kMost);
}

proxy::Listeners Sort(const plan::NetPlan& net, std::vector<sys::UniqueFd> sockets) {
  proxy::Listeners listeners;
  std::vector<backend::InsideSocket> made = backend::InsideSockets(net);
  for (size_t i = 0; i < std::min(made.size(), sockets.size()); ++i) {
    switch (made[i].use) {
      case backend::SocketUse::kProxy:
        listeners.mux.push_back(std::move(sockets[i]));
        break;
      case backend::SocketUse::kCapture:
        listeners.capture.push_back(std::move(sockets[i]));
        break;
      case backend::SocketUse::kDnsUdp:
        listeners.dns_udp.push_back(std::move(sockets[i]));
        break;
      case backend::SocketUse::kDnsTcp:
        listeners.dns_tcp.push_back(std::move(sockets[i]));
        break;
      case backend::SocketUse::kHostPort:
        listeners.host_ports.push_back({std::move(sockets[i]), made[i].port});
        break;
    }
  }
  return listeners;
}

std::string SubjectOf(const proxy::NetEvent& event) {
  if (event.host.empty()) return "to the proxy";
  bool v6 = event.port != 0 && event.host.contains(':');
  std::string subject = v6 ? "[" + event.host + "]" : event.host;
  if (event.port != 0) subject += ":" + std::to_string(event.port);
  if (!event.address.empty() && event.address != event.host) subject += " (" + event.address + ")";
  return subject;
}

}  // namespace

bool Egress::needed() const {
  return net_.proxied() || !net_.host_ports.empty() || !net_.publish.empty();
}

Result<std::vector<proxy::Forward>> Egress::Publish() const {
  std::vector<proxy::Forward> forwards;
  for (int port : net_.publish) {
    CORDON_ASSIGN_OR_RETURN(sys::UniqueFd listener, ListenOnLoopback(port));
    forwards.push_back({std::move(listener), port});
  }
  return forwards;
}

void Egress::LookInto(Interception& interception) {
  tls_ = interception.companion.TakeControl();
  secrets_ = std::move(interception.secrets);
}

Status Egress::Start(std::vector<sys::UniqueFd> sockets, int pidfd) {
  proxy::Listeners listeners = Sort(net_, std::move(sockets));
  CORDON_ASSIGN_OR_RETURN(listeners.publish, Publish());
  proxy::ProxyOptions options;
  options.rules = net_.rules;
  options.upstream = net_.upstream;
  options.no_proxy = net_.no_proxy;
  options.limits.connections = MostConnections();
  options.tls = std::move(tls_);
  options.secrets = std::move(secrets_);
  options.on_event = [this](const proxy::NetEvent& event) { Record(event); };
  options.inside = [pidfd](guard::Family family) {
    return spawn::SocketInside(pidfd, family == guard::Family::kV4 ? AF_INET : AF_INET6);
  };
  CORDON_ASSIGN_OR_RETURN(proxy_, proxy::Proxy::Start(std::move(options), std::move(listeners)));
  return {};
}

void Egress::Record(const proxy::NetEvent& event) {
  if (log_ != nullptr) std::ignore = log_->Record(event);
  // A server that is down is nobody's rule.
  if (event.allowed || event.reason == Reason::kUpstreamFailed) return;
  bool lookup = event.operation == proxy::NetOperation::kLookup;
  Violation violation{.reason = event.reason,
                      .operation = lookup ? "look up" : "connect",
                      .subject = SubjectOf(event),
                      .rule = event.rule.empty() ? event.detail : event.rule,
                      .hint = event.hint};
  std::lock_guard lock(mutex_);
  auto known = std::ranges::find_if(violations_, [&](const Violation& other) {
    return other.reason == violation.reason && other.operation == violation.operation &&
           other.subject == violation.subject;
  });
  if (known != violations_.end()) {
    ++known->count;
  } else if (violations_.size() < kMostViolations) {
    violations_.push_back(std::move(violation));
  } else {
    ++dropped_;
  }
}

std::vector<Violation> Egress::Finish() {
  proxy_.reset();
  std::lock_guard lock(mutex_);
  if (dropped_ > 0) {
    violations_.push_back({.reason = Reason::kHostDenied,
                           .operation = "connect",
                           .subject = "others",
                           .rule = "too many to name",
                           .count = dropped_});
  }
  return std::move(violations_);
}

}  // namespace cordon::session
