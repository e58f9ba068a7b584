#include "proxy/tls_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/strings.h"
#include "tls/companion.h"

namespace cordon::proxy {
namespace {

struct Handed {
  sys::UniqueFd plaintext;
  std::string problem;
};

std::string Failed(int error) { return "the TLS companion: " + base::ErrnoText(error); }

Task<Handed> HandOver(Server& server, tls::Order order, std::string host, std::string said,
                      int network) {
  int ends[2];
  if (!server.tls) co_return Handed{{}, "TLS is not looked into here"};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    co_return Handed{{}, Failed(errno)};
  }
  sys::UniqueFd ours(ends[0]), theirs(ends[1]);
  const std::array<int, 2> fds = {network, theirs.get()};
  for (;;) {
    int failed = tls::SendOrder(server.tls->native_handle(), order, host, said, fds);
    if (failed == 0) co_return Handed{std::move(ours), {}};
    if (failed != EAGAIN) co_return Handed{{}, Failed(failed)};
    ErrorCode stopped = co_await WaitReady(*server.tls, Ready::kWrite);
    if (stopped) co_return Handed{{}, Failed(stopped.value())};
  }
}

// All of `buffer`, and not a byte more.
Task<bool> ReadExactly(Socket& socket, std::span<char> buffer) {
  while (!buffer.empty()) {
    ReadResult got = co_await ReadSome(socket, buffer);
    if (got.error || got.bytes == 0) co_return false;
    buffer = buffer.subspan(got.bytes);
  }
  co_return true;
}

Task<std::string> ReadVerdict(Socket& socket) {
  std::array<char, sizeof(tls::Verdict)> bytes;
  bool read = co_await ReadExactly(socket, bytes);
  if (!read) co_return "TLS: the handshake did not end in time";
  tls::Verdict verdict;
  std::memcpy(&verdict, bytes.data(), sizeof verdict);
  if (verdict.good != 0) co_return "";
  std::string text(verdict.size, ' ');
  read = co_await ReadExactly(socket, text);
  co_return read && !text.empty() ? base::Printable(text) : "TLS: the handshake failed";
}

}  // namespace

Task<std::string> ServeTls(Connection& connection, const guard::Host& host) {
  Handed handed = co_await HandOver(connection.server, tls::Order::kServe, host.name,
                                    std::move(connection.in), connection.client.native_handle());
  connection.in.clear();
  if (!handed.problem.empty()) co_return handed.problem;
  connection.SetPlaintext(Adopt(connection.server.executor, std::move(handed.plaintext)));
  std::string problem = co_await ReadVerdict(connection.client);
  co_return problem;
}

Task<std::string> ConnectTls(Connection& connection, const guard::Host& host) {
  Handed handed = co_await HandOver(connection.server, tls::Order::kConnect, host.name, "",
                                    connection.upstream->native_handle());
  if (!handed.problem.empty()) co_return handed.problem;
  connection.upstream = Adopt(connection.server.executor, std::move(handed.plaintext));
  connection.upstream_in_tls = true;
  std::string problem = co_await ReadVerdict(*connection.upstream);
  co_return problem;
}

bool BrokeOff(Socket& plaintext) {
  pollfd state{plaintext.native_handle(), 0, 0};
  return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace cordon::proxy
