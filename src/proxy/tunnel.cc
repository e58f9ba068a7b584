#include "proxy/tunnel.h"

#include "base/strings.h"
#include "proxy/client_hello.h"
#include "proxy/http_rules.h"
#include "proxy/reach.h"
#include "proxy/tls_link.h"

namespace cordon::proxy {
namespace {

constexpr char kTlsHandshake = 0x16;
constexpr int kHttpPort = 80;

enum class Look { kPass, kNeedMore, kDeny };

struct Looked {
  Look look = Look::kDeny;
  Refusal refusal;  // without a detail or rule: there is nobody to be told
};

Looked Mismatch(std::string detail) {
  return {Look::kDeny, {.reason = Reason::kNameMismatch, .detail = std::move(detail)}};
}

// What a client may name that asked for `target`.
Looked LookAtName(const Server& server, const std::string& sni, const guard::HostPort& target) {
  auto named = guard::ParseHost(sni);
  if (named && *named == target.host) return {Look::kPass, {}};
  Looked other = Mismatch("the client's TLS hello names " + base::Printable(sni));
  if (!named || !target.host.address) return other;
  auto refusal = RefuseNamed(server, *named, target.port);
  if (!refusal) return {Look::kPass, {}};
  return {Look::kDeny, std::move(*refusal)};
}

Looked LookAtHello(const Server& server, std::string_view bytes, const guard::HostPort& target) {
  HelloReading reading =
      ReadClientHello({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  switch (reading.state) {
    case HelloState::kNotTls:
      return {Look::kPass, {}};
    case HelloState::kNeedMore:
      return {Look::kNeedMore, {}};
    case HelloState::kMalformed:
      return Mismatch("the client's TLS hello cannot be read: " + std::string(reading.problem));
    case HelloState::kComplete:
      break;
  }
  if (reading.hello.sni) return LookAtName(server, *reading.hello.sni, target);
  // A client that was given an address has no name to tell.
  if (target.host.address) return {Look::kPass, {}};
  return Mismatch("the client's TLS hello names no server");
}

// Reads until the client's first message can be judged. An end of the stream
// that comes before passes what there is, unless it began like TLS.
Task<Looked> LookAtClient(Connection& connection, guard::HostPort target) {
  for (bool begun = false;;) {
    if (!connection.in.empty()) {
      Looked looked = LookAtHello(connection.server, connection.in, target);
      if (looked.look != Look::kNeedMore) co_return looked;
      if (!begun) connection.ExpectWithin(connection.server.options.limits.handshake_ms);
      begun = true;
    }
    bool more = co_await connection.ReadMore();
    if (!more && begun) co_return Mismatch("the client's TLS hello is not complete");
    bool ended = connection.input() == Connection::Input::kEnded;
    if (!more) co_return Looked{ended ? Look::kPass : Look::kDeny, {}};
  }
}

Task<void> FromClient(Connection& connection) {
  connection.ExpectNothing();
  connection.idle.Touch();
  std::string first = std::move(connection.in);
  connection.in.clear();
  connection.event().bytes_out += first.size();
  ErrorCode failed = co_await WriteAll(*connection.upstream, first);
  if (failed) {
    connection.Cut();
    co_return;
  }
  first = {};
  if (connection.input() == Connection::Input::kEnded) {
    EndDirection(*connection.upstream, connection.idle);
    co_return;
  }
  co_await Pump(connection.client, *connection.upstream, connection.server.buffers, connection.idle,
                connection.event().bytes_out);
}

Task<void> FromServer(Connection& connection) {
  co_await Pump(*connection.upstream, connection.client, connection.server.buffers, connection.idle,
                connection.event().bytes_in);
}

Task<void> FromLookedAt(Connection& connection) {
  Looked looked = co_await LookAtClient(connection, *connection.target());
  if (looked.look == Look::kPass) {
    co_await FromClient(connection);
    co_return;
  }
  bool told = !looked.refusal.detail.empty() || !looked.refusal.rule.empty();
  if (told && connection.client.is_open()) {
    connection.event().allowed = false;
    connection.event().reason = looked.refusal.reason;
    connection.event().rule = std::move(looked.refusal.rule);
    connection.event().hint = std::move(looked.refusal.hint);
    connection.event().detail = std::move(looked.refusal.detail);
  }
  connection.Cut();
}

Refusal NotSeen() {
  return {.reason = Reason::kHostDenied,
          .rule = "the [[net.rule]] of this host",
          .hint = "TLS must be listed in net.tls.intercept for its requests to be seen",
          .detail = "its requests cannot be seen inside TLS"};
}

// Neither TLS nor bound by rules.
Task<void> RunUnseen(Connection& connection, guard::HostPort target) {
  connection.ExpectNothing();
  auto refusal = co_await Reach(connection, target, Purpose::kTunnel);
  if (!refusal) {
    co_await RunTunnel(connection);
    co_return;
  }
  connection.Deny(target.host.name, target.port, *refusal);
  connection.Cut();
}

Task<void> RunInsideTls(Connection& connection, guard::HostPort target) {
  Looked looked = co_await LookAtClient(connection, target);
  Refusal refusal = std::move(looked.refusal);
  if (looked.look == Look::kPass) {
    connection.ExpectWithin(connection.server.options.limits.handshake_ms);
    refusal = {.reason = Reason::kRequestInvalid};
    refusal.detail = co_await ServeTls(connection, target.host);
  }
  if (looked.look == Look::kPass && refusal.detail.empty()) {
    connection.ExpectWithin(connection.server.options.limits.handshake_ms);
    co_await ServeHttpFor(connection, target);
    co_return;
  }
  connection.Deny(target.host.name, target.port, refusal);
  connection.Cut();
}

}  // namespace

bool NeedsLook(const Server& server, const guard::HostPort& target) {
  const guard::NetRules& rules = server.options.rules;
  return HasHttpRules(rules.http_rules, target.host) ||
         guard::IsIntercepted(rules, target.host, target.port) ||
         (target.host.address && target.port == kHttpPort);
}

std::optional<Refusal> RefuseNamed(const Server& server, const guard::Host& named, int port) {
  const guard::NetRules& rules = server.options.rules;
  auto decision = guard::DecideDeny(rules, named, port);
  if (!decision.allowed) return Refusal::Of(decision);
  bool seen = HasHttpRules(rules.http_rules, named) || guard::IsIntercepted(rules, named, port);
  if (!seen) return std::nullopt;
  return Refusal{.reason = Reason::kNameMismatch,
                 .hint = "connect to the name, not to an address",
                 .detail = "requests for " + named.name + " have to be seen"};
}

Task<void> RunInspected(Connection& connection, guard::HostPort target) {
  connection.ExpectWithin(connection.server.options.limits.handshake_ms);
  bool begun = !connection.in.empty();
  if (!begun) begun = co_await connection.ReadMore();
  if (!begun) co_return;
  const guard::NetRules& rules = connection.server.options.rules;
  bool http = target.port == kHttpPort || HasHttpRules(rules.http_rules, target.host);
  if (connection.in[0] != kTlsHandshake) {
    if (http) co_await ServeHttpFor(connection, target);
    if (!http) co_await RunUnseen(connection, target);
    co_return;
  }
  if (guard::IsIntercepted(rules, target.host, target.port)) {
    co_await RunInsideTls(connection, target);
    co_return;
  }
  connection.Deny(target.host.name, target.port, NotSeen());
  connection.Cut();
}

Task<void> RunTunnel(Connection& connection) {
  connection.ExpectNothing();
  connection.idle.Touch();
  co_await Both(FromLookedAt(connection), FromServer(connection));
  connection.upstream.reset();
  connection.Finish();
}

Task<void> RunRelay(Connection& connection) {
  co_await Both(FromClient(connection), FromServer(connection));
  connection.upstream.reset();
  connection.Finish();
}

}  // namespace cordon::proxy
