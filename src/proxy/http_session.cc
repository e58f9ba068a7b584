// A client that speaks HTTP/1.1: CONNECT, and requests for http:// that are
// passed on one by one.
#include "proxy/connection.h"
#include "proxy/http_exchange.h"
#include "proxy/http_head.h"
#include "proxy/http_rules.h"
#include "proxy/reach.h"
#include "proxy/tunnel.h"

namespace cordon::proxy {
namespace {

constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";
constexpr int kHttpPort = 80;

struct BadHead {
  int status = 0;  // 0: nobody is there to be told
  std::string text;
};

// The next head: its bytes are taken off `in`.
Task<std::expected<RequestHead, BadHead>> ReadHead(Connection& connection) {
  const size_t most = connection.server.options.limits.head_bytes;
  HeadScanner scanner;
  for (;;) {
    auto state = scanner.Scan(connection.in);
    if (state == HeadScanner::State::kMalformed) {
      co_return std::unexpected(BadHead{400, "a head that is not HTTP/1.1"});
    }
    bool complete = state == HeadScanner::State::kComplete;
    if ((complete ? scanner.size() : connection.in.size()) > most) {
      co_return std::unexpected(BadHead{431, "a head that is too large"});
    }
    if (complete) break;
    bool begun = !connection.in.empty();
    bool more = co_await connection.ReadMore();
    if (more) continue;
    if (begun && connection.expired()) {
      co_return std::unexpected(BadHead{408, "a head that did not come in time"});
    }
    co_return std::unexpected(BadHead{});
  }
  auto head = ParseRequestHead(std::string_view(connection.in).substr(0, scanner.size()));
  connection.in.erase(0, scanner.size());
  connection.ExpectNothing();
  if (!head) co_return std::unexpected(BadHead{400, head.error().message});
  co_return std::move(*head);
}

Task<void> Refuse(Connection& connection, std::string host, int port, Refusal refusal) {
  connection.Deny(host, port, refusal);
  std::string text = TextOf(refusal, host, port);
  co_await AnswerHttp(connection, HttpStatusOf(refusal.reason), refusal.reason, text);
}

Task<void> RefuseHead(Connection& connection, BadHead bad,
                      const std::optional<guard::HostPort>& fixed) {
  if (bad.status == 0) co_return;
  connection.Deny(fixed ? fixed->host.name : "", fixed ? fixed->port : 0,
                  {.reason = Reason::kRequestInvalid, .detail = bad.text});
  std::string text = "cordon: request denied: " + bad.text;
  co_await AnswerHttp(connection, bad.status, Reason::kRequestInvalid, text);
}

Refusal InvalidRequest(std::string detail) {
  return {.reason = Reason::kRequestInvalid, .detail = std::move(detail)};
}

Task<void> ServeConnect(Connection& connection, RequestHead head) {
  connection.via = Via::kConnect;
  if (head.body.kind != BodyKind::kNone) {
    co_await Refuse(connection, head.target, 0, InvalidRequest("CONNECT with a body"));
    co_return;
  }
  // The Host field has no say here.
  auto target = guard::ParseHostPort(head.target);
  if (!target) {
    co_await Refuse(connection, head.target, 0, Refusal::Invalid(target.error()));
    co_return;
  }
  Server& server = connection.server;
  target = server.Meant(*target);
  auto decision = guard::DecideHost(server.Rules(), target->host, target->port);
  if (decision.allowed && NeedsLook(server, *target)) {
    bool told = co_await connection.Write(kEstablished);
    if (told) co_await RunInspected(connection, *target);
    co_return;
  }
  auto refusal = co_await Reach(connection, *target, Purpose::kTunnel);
  if (refusal) {
    co_await Refuse(connection, target->host.name, target->port, *refusal);
    co_return;
  }
  bool told = co_await connection.Write(kEstablished);
  if (told) co_await RunTunnel(connection);
}

Result<Asked> AskedOfProxy(const RequestHead& head) {
  CORDON_ASSIGN_OR_RETURN(AbsoluteTarget absolute, ParseAbsoluteTarget(head.target));
  CORDON_ASSIGN_OR_RETURN(guard::HostPort target,
                          guard::ParseHostPort(absolute.authority, kHttpPort));
  return Asked{target, target, std::move(absolute.origin_form)};
}

Result<guard::HostPort> NamedBy(const RequestHead& head, const Asked& asked, int port) {
  if (!head.target.starts_with('/')) return asked.target;
  return guard::ParseHostPort(head.host, port);
}

// Of a server that `fixed` stands for: the Host must be it. Outside of TLS an
// address may be asked for a name.
std::expected<Asked, Refusal> AskedOfServer(const Connection& connection, const RequestHead& head,
                                            const guard::HostPort& fixed) {
  Result<Asked> asked = Asked{fixed, fixed, head.target};
  if (!head.target.starts_with('/')) asked = AskedOfProxy(head);
  if (!asked) return std::unexpected(Refusal::Invalid(asked.error()));
  auto named = NamedBy(head, *asked, fixed.port);
  if (!named) return std::unexpected(Refusal::Invalid(named.error()));
  asked->target = fixed;
  if (*named == fixed) return std::move(*asked);
  bool stands_for_it = fixed.host.address && !named->host.address && named->port == fixed.port;
  if (!stands_for_it || connection.secure()) {
    return std::unexpected(Refusal{.reason = Reason::kNameMismatch,
                                   .detail = "a request for another host on this connection"});
  }
  auto refusal = RefuseNamed(connection.server, named->host, named->port);
  if (refusal) return std::unexpected(std::move(*refusal));
  asked->named = std::move(*named);
  return std::move(*asked);
}

std::expected<Asked, Refusal> AskedOf(const Connection& connection, const RequestHead& head,
                                      const std::optional<guard::HostPort>& fixed) {
  if (fixed) return AskedOfServer(connection, head, *fixed);
  auto asked = AskedOfProxy(head);
  if (!asked) return std::unexpected(Refusal::Invalid(asked.error()));
  asked->target = asked->named = connection.server.Meant(asked->target);
  return std::move(*asked);
}

// One request and its answer; whether another may follow on the connection.
Task<bool> ServeRequest(Connection& connection, RequestHead head,
                        const std::optional<guard::HostPort>& fixed) {
  auto asked = AskedOf(connection, head, fixed);
  if (!asked) {
    co_await Refuse(connection, fixed ? fixed->host.name : head.target, fixed ? fixed->port : 0,
                    asked.error());
    co_return false;
  }
  guard::HostPort target = asked->target;
  auto decision =
      DecideRequest(connection.server.options.rules.http_rules, target, head, asked->origin_form);
  // The host first: a denied one is told nothing about rules of requests.
  auto host = guard::DecideHost(connection.server.Rules(), target.host, target.port);
  if (!host.allowed || !decision.allowed) {
    co_await Refuse(connection, target.host.name, target.port,
                    Refusal::Of(host.allowed ? decision : host));
    co_return false;
  }
  Exchange exchange(connection, head, std::move(*asked));
  auto refusal = co_await exchange.Run();
  if (refusal) {
    co_await Refuse(connection, target.host.name, target.port, *refusal);
    co_return false;
  }
  co_return exchange.reusable();
}

Task<void> ServeRequests(Connection& connection, std::optional<guard::HostPort> fixed) {
  for (;;) {
    auto head = co_await ReadHead(connection);
    if (!head) {
      co_await RefuseHead(connection, head.error(), fixed);
      co_return;
    }
    if (head->method == "CONNECT") {
      if (!fixed) co_await ServeConnect(connection, *head);
      co_return;
    }
    bool goes_on = co_await ServeRequest(connection, *head, fixed);
    if (!goes_on) co_return;
    connection.idle.Touch();
    if (!connection.in.empty()) {
      connection.ExpectWithin(connection.server.options.limits.handshake_ms);
      continue;
    }
    // Idle between requests; once one begins it has to come in time.
    bool more = co_await connection.ReadMore();
    if (!more) co_return;
    connection.ExpectWithin(connection.server.options.limits.handshake_ms);
  }
}

}  // namespace

Task<void> ServeHttp(Connection& connection) { co_await ServeRequests(connection, std::nullopt); }

Task<void> ServeHttpFor(Connection& connection, const guard::HostPort& target) {
  co_await ServeRequests(connection, target);
}

}  // namespace cordon::proxy
