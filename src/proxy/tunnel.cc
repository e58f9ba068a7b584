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
  std::string detail;
};

Looked LookAtHello(std::string_view bytes, const guard::Host& expected) {
  HelloReading reading =
      ReadClientHello({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  switch (reading.state) {
    case HelloState::kNotTls:
      return {Look::kPass, {}};
    case HelloState::kNeedMore:
      return {Look::kNeedMore, {}};
    case HelloState::kMalformed:
      return {Look::kDeny,
              "the client's TLS hello cannot be read: " + std::string(reading.problem)};
    case HelloState::kComplete:
      break;
  }
  if (!reading.hello.sni) return {Look::kDeny, "the client's TLS hello names no server"};
  auto named = guard::ParseHost(*reading.hello.sni);
  if (named && *named == expected) return {Look::kPass, {}};
  return {Look::kDeny, "the client's TLS hello names " + base::Printable(*reading.hello.sni)};
}

// Reads until the client's first message can be judged. An end of the stream
// that comes before passes what there is, unless it began like TLS.
Task<Looked> LookAtClient(Connection& connection, const guard::Host& expected) {
  for (bool begun = false;;) {
    if (!connection.in.empty()) {
      Looked looked = LookAtHello(connection.in, expected);
      if (looked.look != Look::kNeedMore) co_return looked;
      if (!begun) connection.ExpectWithin(connection.server.options.limits.handshake_ms);
      begun = true;
    }
    bool more = co_await connection.ReadMore();
    if (!more && begun) co_return Looked{Look::kDeny, "the client's TLS hello is not complete"};
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
  guard::HostPort target = *connection.target();
  Looked looked{Look::kPass, {}};
  if (!target.host.address) looked = co_await LookAtClient(connection, target.host);
  if (looked.look == Look::kPass) {
    co_await FromClient(connection);
    co_return;
  }
  if (!looked.detail.empty() && connection.client.is_open()) {
    connection.event().allowed = false;
    connection.event().reason = Reason::kNameMismatch;
    connection.event().detail = looked.detail;
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
  Looked looked{Look::kPass, {}};
  if (!target.host.address) looked = co_await LookAtClient(connection, target.host);
  Refusal refusal{.reason = Reason::kNameMismatch, .detail = looked.detail};
  if (looked.look == Look::kPass) {
    connection.ExpectWithin(connection.server.options.limits.handshake_ms);
    refusal = {.reason = Reason::kRequestInvalid};
    refusal.detail = co_await ServeTls(connection, target.host);
  }
  if (refusal.detail.empty() && looked.look == Look::kPass) {
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
         guard::IsIntercepted(rules, target.host, target.port);
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
