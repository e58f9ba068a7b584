// A port of one loopback that leads to the same port of another.
#include "base/error.h"
#include "proxy/connection.h"
#include "proxy/dial.h"
#include "proxy/tunnel.h"

namespace cordon::proxy {
namespace {

// IPv4 first: that is where most servers listen.
Task<Dialled> DialLoopback(int port, Clock::time_point deadline, SocketFactory make) {
  Dialled dialled;
  for (const char* address : {"127.0.0.1", "::1"}) {
    std::vector<Endpoint> endpoint = {{*guard::ParseIp(address), port}};
    dialled = co_await Dial(std::move(endpoint), deadline, make);
    if (dialled.socket) break;
  }
  co_return dialled;
}

std::string RuleOf(Via via) { return via == Via::kPublish ? "net.publish" : "net.host_ports"; }

}  // namespace

Task<void> ServeForward(std::unique_ptr<Connection> connection, Via via, int port,
                        SocketFactory make) {
  connection->ExpectNothing();
  connection->via = via;
  auto deadline =
      Clock::now() + std::chrono::milliseconds(connection->server.options.limits.connect_ms);
  Dialled dialled = co_await DialLoopback(port, deadline, std::move(make));
  if (!dialled.socket) {
    Refusal failed = Refusal::Failed(base::ErrnoText(dialled.failure));
    failed.rule = RuleOf(via);
    connection->Deny(kLoopbackName, port, failed);
    connection->Cut();
    co_return;
  }
  connection->upstream = std::move(dialled.socket);
  connection->BeginForward(dialled.endpoint, RuleOf(via));
  co_await RunRelay(*connection);
}

}  // namespace cordon::proxy
