#include "session/egress.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <tuple>

#include "backend/linux/net_ops.h"
#include "base/error.h"
#include "spawn/inside.h"
#include "sys/signals.h"

namespace cordon::session {
namespace {

// Distinct denials; a flood of names adds no more.
constexpr size_t kMostViolations = 1000;
constexpr std::chrono::seconds kNewsInterval(1);
// Each is a descriptor, for as long as the run lasts.
constexpr size_t kMostCaptured = 128;

}  // namespace

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
    return base::SystemError("listen on 127.0.0.1:" + std::to_string(port), errno,
                             Reason::kSetupFailed);
  }
  return fd;
}

Result<int> PortOf(const sys::UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return base::SystemError("getsockname", errno, Reason::kSetupFailed);
  }
  return ntohs(address.sin_port);
}

bool NeedsProxy(const NetPolicy& net) {
  bool proxied = net.mode == NetMode::kProxy || net.mode == NetMode::kPublic;
  return proxied && !net.external;
}

namespace {

// Each takes up to five descriptors (the client and its plaintext, the server and its,
// and one of the two on its way to the companion); the broker needs some too.
size_t MostConnections(size_t listeners) {
  constexpr size_t kMost = 4096, kOthers = 128, kEach = 5;
  size_t taken = kOthers + listeners;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  size_t free = limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
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

// What a struct sockaddr means, unless it is the sandbox itself.
std::optional<guard::HostPort> Remote(const std::string& address) {
  guard::IpAddress ip;
  sockaddr_in6 v6{};  // family and port lie at the same place in both
  std::memcpy(&v6, address.data(), std::min(address.size(), sizeof v6));
  if (v6.sin6_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    ip.family = guard::Family::kV6;
    std::memcpy(ip.bytes.data(), &v6.sin6_addr, 16);
  } else {
    sockaddr_in v4{};
    std::memcpy(&v4, &v6, sizeof v4);
    if (v6.sin6_family == AF_INET6) std::memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], 4);
    ip.family = guard::Family::kV4;
    std::memcpy(ip.bytes.data(), &v4.sin_addr, 4);
  }
  std::string name = guard::ToString(ip);
  bool ours = name == plan::kInsideV4 || ip == guard::ParseIp(plan::kInsideV6) ||
              guard::KindOf(ip) == guard::AddressKind::kLoopback ||
              guard::KindOf(ip) == guard::AddressKind::kUnspecified;
  if (ours || v6.sin6_port == 0) return std::nullopt;
  return guard::HostPort{{.name = std::move(name), .address = ip}, ntohs(v6.sin6_port)};
}

sys::UniqueFd ListenInside(int pidfd, const guard::HostPort& at) {
  bool v4 = at.host.address->family == guard::Family::kV4;
  sys::UniqueFd fd = spawn::SocketInside(pidfd, v4 ? AF_INET : AF_INET6);
  sockaddr_storage address{};
  if (v4) {
    sockaddr_in in{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(at.port))};
    std::memcpy(&in.sin_addr, at.host.address->bytes.data(), 4);
    std::memcpy(&address, &in, sizeof in);
  } else {
    sockaddr_in6 in{.sin6_family = AF_INET6, .sin6_port = htons(static_cast<uint16_t>(at.port))};
    std::memcpy(&in.sin6_addr, at.host.address->bytes.data(), 16);
    std::memcpy(&address, &in, sizeof in);
  }
  // IPv6 asks for an address of an interface; that a route makes it local is not enough.
  int on = 1;
  if (!v4) setsockopt(fd.get(), SOL_IPV6, IPV6_FREEBIND, &on, sizeof on);
  if (!fd.valid() || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return {};
  }
  return fd;
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
  // On the host's own network its ports are reached as they are.
  if (net_.host_network) return net_.proxied() && !net_.external;
  return net_.proxied() || !net_.host_ports.empty() || !net_.publish.empty();
}

Result<std::vector<proxy::Forward>> Egress::Publish() const {
  std::vector<proxy::Forward> forwards;
  for (int port : net_.publish) {
    Result<sys::UniqueFd> listener = ListenOnLoopback(port);
    if (!listener) return std::move(listener).error().Within("net.publish");
    forwards.push_back({std::move(*listener), port});
  }
  return forwards;
}

void Egress::LookInto(Interception& interception) {
  tls_ = interception.companion.TakeControl();
  secrets_ = std::move(interception.secrets);
}

Status Egress::Start(std::vector<sys::UniqueFd> sockets, int pidfd) {
  pidfd_ = pidfd;
  proxy::Listeners listeners = Sort(net_, std::move(sockets));
  for (proxy::Forward& forward : listeners.host_ports) {
    bool external = external_port_ != 0 && forward.port == plan::kProxyPort;
    if (external) forward.port = external_port_;
  }
  if (!net_.host_network) {
    CORDON_ASSIGN_OR_RETURN(listeners.publish, Publish());
  }
  proxy::ProxyOptions options;
  options.rules = net_.rules;
  options.upstream = net_.upstream;
  options.no_proxy = net_.no_proxy;
  options.limits.connections = MostConnections(captures_any() ? kMostCaptured : 0);
  options.tls = std::move(tls_);
  options.secrets = std::move(secrets_);
  options.on_event = [this](const proxy::NetEvent& event) { Record(event); };
  options.inside = [pidfd](guard::Family family) {
    return spawn::SocketInside(pidfd, family == guard::Family::kV4 ? AF_INET : AF_INET6);
  };
  CORDON_ASSIGN_OR_RETURN(proxy_, proxy::Proxy::Start(std::move(options), std::move(listeners)));
  return {};
}

void Egress::CaptureAt(const std::string& address) {
  std::optional<guard::HostPort> at = Remote(address);
  if (!at || captured_.size() >= kMostCaptured) return;
  std::string key = guard::ToString(*at);
  if (!captured_.insert(key).second) return;
  // A server of the sandbox's own on that port, if it is there for every address, keeps it.
  sys::UniqueFd listener = ListenInside(pidfd_, *at);
  if (!listener.valid()) {
    captured_.erase(key);
    return;
  }
  proxy_->Capture(std::move(listener));
}

void Egress::Follow(std::function<std::optional<guard::NetRules>()> news) {
  sys::SignalsBlocked blocked;
  follower_ = std::jthread([this, news = std::move(news)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, stop, kNewsInterval, [&] { return stop.stop_requested(); })) {
      auto rules = news();
      if (rules) proxy_->Reload(std::move(*rules));
    }
  });
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
  follower_ = {};
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
