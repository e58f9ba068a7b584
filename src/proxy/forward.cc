// A port of one loopback that leads to the same port of another.
#include "proxy/connection.h"
#include "proxy/dial.h"
#include "proxy/tunnel.h"

namespace cordon::proxy {
namespace {

std::vector<Endpoint> Loopback(int port) {
  return {{*guard::ParseIp("127.0.0.1"), port}, {*guard::ParseIp("::1"), port}};
}

}  // namespace

Task<void> ServeForward(std::unique_ptr<Connection> connection, int port, SocketFactory make) {
  connection->ExpectNothing();
  auto deadline =
      Clock::now() + std::chrono::milliseconds(connection->server.options.limits.connect_ms);
  Dialled dialled = co_await Dial(Loopback(port), deadline, std::move(make));
  if (!dialled.socket) {
    connection->Cut();
    co_return;
  }
  connection->upstream = std::move(dialled.socket);
  co_await RunRelay(*connection);
}

}  // namespace cordon::proxy
