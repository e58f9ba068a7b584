#include "proxy/reach.h"

#include <cerrno>

#include "base/error.h"
#include "proxy/dial.h"
#include "proxy/parent_link.h"
#include "proxy/tls_link.h"

namespace cordon::proxy {
namespace {

SocksReply ReplyFor(int error) {
  if (error == ECONNREFUSED) return SocksReply::kRefused;
  bool unreachable = error == EHOSTUNREACH || error == ENETUNREACH || error == ETIMEDOUT;
  return unreachable ? SocksReply::kHostUnreachable : SocksReply::kFailure;
}

Clock::time_point ConnectDeadline(const Server& server) {
  return Clock::now() + std::chrono::milliseconds(server.options.limits.connect_ms);
}

// The answers that may be dialled; if there are none, why not.
struct Checked {
  std::vector<Endpoint> endpoints;
  std::string rule;
  std::optional<Refusal> refusal;
};

Checked Check(Server& server, const guard::HostPort& target,
              const std::vector<guard::IpAddress>& addresses) {
  Checked checked;
  const guard::NetRules& rules = server.Rules();
  for (const guard::IpAddress& address : addresses) {
    auto decision = guard::DecideAddress(rules, target.host, address, target.port);
    if (decision.allowed) {
      checked.endpoints.push_back({address, target.port});
    } else if (!checked.refusal) {
      checked.refusal = Refusal::Of(decision);
      checked.refusal->address = guard::ToString(address);
    }
  }
  if (!checked.endpoints.empty()) checked.refusal.reset();
  return checked;
}

Task<Resolved> Addresses(Server& server, const guard::Host& host) {
  if (host.address) co_return Resolved{.addresses = {*host.address}};
  co_return co_await server.resolver.Resolve(host.name);
}

Task<std::optional<Refusal>> Connect(Connection& connection, std::vector<Endpoint> endpoints,
                                     std::string& address) {
  Dialled dialled = co_await Dial(std::move(endpoints), ConnectDeadline(connection.server));
  address = guard::ToString(dialled.endpoint.address);
  if (!dialled.socket) {
    co_return Refusal::Failed(base::ErrnoText(dialled.failure), ReplyFor(dialled.failure));
  }
  connection.upstream = std::move(dialled.socket);
  connection.upstream_in_tls = false;
  co_return std::nullopt;
}

Task<std::optional<Refusal>> ReachDirect(Connection& connection, const guard::HostPort& target,
                                         std::string& address) {
  Resolved resolved = co_await Addresses(connection.server, target.host);
  if (resolved.addresses.empty()) {
    co_return Refusal::Failed(resolved.problem, SocksReply::kHostUnreachable);
  }
  Checked checked = Check(connection.server, target, resolved.addresses);
  if (checked.refusal) co_return checked.refusal;
  co_return co_await Connect(connection, std::move(checked.endpoints), address);
}

// For a parent that is spoken to by TLS: it has to prove who it is. What failed, or
// nothing.
Task<std::string> SecureParent(Connection& connection, const ParentProxy& parent) {
  if (parent.transport != ParentProxy::Transport::kTls) co_return "";
  connection.idle.deadline = ConnectDeadline(connection.server);
  std::string problem = co_await ConnectTls(connection, parent.at.host);
  co_return problem;
}

// The parent is the administrator's choice: its own address is not judged.
Task<std::optional<Refusal>> ReachByParent(Connection& connection, const ParentProxy& parent,
                                           const guard::HostPort& target, Purpose purpose,
                                           std::string& address) {
  if (target.host.address) {
    Checked checked = Check(connection.server, target, {*target.host.address});
    if (checked.refusal) co_return checked.refusal;
  }
  Resolved resolved = co_await Addresses(connection.server, parent.at.host);
  if (resolved.addresses.empty()) {
    co_return Refusal::Failed("the upstream proxy: " + resolved.problem);
  }
  std::vector<Endpoint> endpoints;
  for (const auto& one : resolved.addresses) endpoints.push_back({one, parent.at.port});
  auto refusal = co_await Connect(connection, std::move(endpoints), address);
  if (refusal) {
    refusal->detail = "the upstream proxy: " + refusal->detail;
    co_return refusal;
  }
  std::string problem = co_await SecureParent(connection, parent);
  bool asks = purpose != Purpose::kHttpRequest || parent.kind != ParentProxy::Kind::kHttp;
  if (problem.empty() && asks) {
    connection.idle.deadline = ConnectDeadline(connection.server);
    problem = co_await AskParent(*connection.upstream, parent, target);
  }
  if (problem.empty()) co_return std::nullopt;
  connection.upstream.reset();
  co_return Refusal::Failed("the upstream proxy: " + problem);
}

Task<std::optional<Refusal>> Secure(Connection& connection, const guard::Host& host) {
  connection.idle.deadline = ConnectDeadline(connection.server);
  std::string problem = co_await ConnectTls(connection, host);
  if (problem.empty()) co_return std::nullopt;
  connection.upstream.reset();
  co_return Refusal::Failed(problem);
}

}  // namespace

const ParentProxy* HttpParentFor(const Server& server, const guard::HostPort& target) {
  bool used = server.parent && server.parent->kind == ParentProxy::Kind::kHttp &&
              GoesThrough(*server.parent, target);
  return used ? &*server.parent : nullptr;
}

Task<std::optional<Refusal>> Reach(Connection& connection, guard::HostPort target,
                                   Purpose purpose) {
  Server& server = connection.server;
  auto decision = guard::DecideHost(server.Rules(), target.host, target.port);
  if (!decision.allowed) co_return Refusal::Of(decision);
  // From here to the first byte of the relay each step has a deadline of its own.
  connection.idle.deadline = Clock::time_point::max();
  std::string address;
  std::optional<Refusal> refusal;
  if (server.parent && GoesThrough(*server.parent, target)) {
    refusal = co_await ReachByParent(connection, *server.parent, target, purpose, address);
  } else {
    refusal = co_await ReachDirect(connection, target, address);
  }
  if (!refusal && purpose == Purpose::kHttpsRequest) {
    refusal = co_await Secure(connection, target.host);
  }
  connection.idle.Touch();
  if (refusal) {
    if (refusal->address.empty()) refusal->address = address;
    co_return refusal;
  }
  connection.Begin(target, address, decision.rule);
  co_return std::nullopt;
}

}  // namespace cordon::proxy
