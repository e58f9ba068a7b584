// A client that knows of no proxy: it connected to an address, and the network
// namespace made that address ours.
#include "proxy/connection.h"
#include "proxy/reach.h"
#include "proxy/tunnel.h"

namespace cordon::proxy {
namespace {

constexpr int kHttpPort = 80;

bool LooksLikeHttp(std::string_view bytes) {
  size_t letters = bytes.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  return letters != bytes.npos && letters > 0 && bytes[letters] == ' ';
}

// On the port of plain HTTP the client is told; elsewhere it is reset.
Task<void> Refuse(Connection& connection, guard::HostPort target, Refusal refusal) {
  connection.Deny(target.host.name, target.port, refusal);
  if (target.port == kHttpPort) {
    connection.ExpectWithin(connection.server.options.limits.handshake_ms);
    bool read = co_await connection.ReadMore();
    if (read && LooksLikeHttp(connection.in)) {
      std::string text = TextOf(refusal, target.host.name, target.port);
      co_await AnswerHttp(connection, HttpStatusOf(refusal.reason), refusal.reason, text);
      co_return;
    }
  }
  connection.Cut();
}

}  // namespace

Task<void> ServeCapture(Connection& connection) {
  auto at = LocalEndpoint(connection.client);
  if (!at) co_return;
  connection.ExpectNothing();
  Server& server = connection.server;
  guard::Host address{.name = guard::ToString(at->address), .address = at->address};
  guard::HostPort target = server.Meant({address, at->port});
  auto decision = guard::DecideHost(server.Rules(), target.host, target.port);
  // On the port of plain HTTP the Host of each request is looked at.
  if (decision.allowed && (target.port == kHttpPort || NeedsLook(server, target))) {
    co_await RunInspected(connection, target);
    co_return;
  }
  auto refusal = co_await Reach(connection, target, Purpose::kTunnel);
  if (refusal) {
    co_await Refuse(connection, target, *refusal);
    co_return;
  }
  co_await RunTunnel(connection);
}

}  // namespace cordon::proxy
