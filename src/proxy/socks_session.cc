// A client that speaks SOCKS5.
#include "proxy/connection.h"
#include "proxy/reach.h"
#include "proxy/tunnel.h"

namespace cordon::proxy {
namespace {

Task<bool> Greet(Connection& connection) {
  SocksGreeting greeting = ParseSocksGreeting(connection.in);
  while (greeting.state == SocksState::kNeedMore) {
    bool more = co_await connection.ReadMore();
    if (!more) co_return false;
    greeting = ParseSocksGreeting(connection.in);
  }
  if (greeting.state == SocksState::kMalformed) co_return false;
  connection.in.erase(0, greeting.size);
  std::string_view answer = greeting.no_auth ? kSocksUseNoAuth : kSocksNoMethod;
  bool said = co_await connection.Write(answer);
  co_return said&& greeting.no_auth;
}

Task<void> Reply(Connection& connection, SocksReply reply) {
  std::string text = FormatSocksReply(reply);
  co_await connection.Write(text);
  if (reply != SocksReply::kOk) co_await connection.Linger();
}

Task<void> Refuse(Connection& connection, const SocksRequest& request, Refusal refusal) {
  connection.Deny(request.host, request.port, refusal);
  co_await Reply(connection, refusal.socks_reply);
}

Refusal Malformed(const SocksRequest& request) {
  return {.reason = Reason::kRequestInvalid,
          .detail = request.problem == SocksReply::kBadCommand ? "only CONNECT is spoken"
                                                               : "a malformed SOCKS5 request",
          .socks_reply = request.problem};
}

Task<void> Connect(Connection& connection, SocksRequest request) {
  auto host = guard::ParseHost(request.host);
  if (!host || request.port == 0) {
    Refusal refusal{.reason = Reason::kRequestInvalid, .detail = "port 0"};
    if (!host) refusal = Refusal::Invalid(host.error());
    co_await Refuse(connection, request, refusal);
    co_return;
  }
  Server& server = connection.server;
  guard::HostPort target = server.Meant({*host, request.port});
  request.host = target.host.name;
  auto decision = guard::DecideHost(server.Rules(), target.host, target.port);
  if (decision.allowed && NeedsLook(server, target)) {
    co_await Reply(connection, SocksReply::kOk);
    co_await RunInspected(connection, target);
    co_return;
  }
  auto refusal = co_await Reach(connection, target, Purpose::kTunnel);
  if (refusal) {
    co_await Refuse(connection, request, *refusal);
    co_return;
  }
  co_await Reply(connection, SocksReply::kOk);
  co_await RunTunnel(connection);
}

}  // namespace

Task<void> ServeSocks(Connection& connection) {
  bool greeted = co_await Greet(connection);
  if (!greeted) co_return;
  SocksRequest request = ParseSocksRequest(connection.in);
  while (request.state == SocksState::kNeedMore) {
    bool more = co_await connection.ReadMore();
    if (!more) co_return;
    request = ParseSocksRequest(connection.in);
  }
  connection.ExpectNothing();
  if (request.state == SocksState::kMalformed) {
    co_await Refuse(connection, request, Malformed(request));
    co_return;
  }
  connection.in.erase(0, request.size);
  co_await Connect(connection, request);
}

}  // namespace cordon::proxy
