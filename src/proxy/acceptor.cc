#include "proxy/acceptor.h"

#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "base/error.h"

namespace cordon::proxy {
namespace {

constexpr std::chrono::milliseconds kBackOff(100);
constexpr int kAtOnce = 16;  // before those accepted have their turn

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

Task<void> AcceptAll(Executor executor, Socket listener, std::function<void(Socket)> on_client) {
  Signal pause(executor);
  for (;;) {
    ErrorCode failed = co_await WaitReady(listener, Ready::kRead);
    if (failed) co_return;
    for (int count = 0; count < kAtOnce; ++count) {
      sys::UniqueFd fd(
          accept4(listener.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.valid()) {
        Socket client = Adopt(executor, std::move(fd));
        if (client.is_open()) on_client(std::move(client));
        continue;
      }
      if (IsShortage(errno)) co_await pause.WaitUntil(Clock::now() + kBackOff);
      break;  // other errors are the client's that went away
    }
  }
}

}  // namespace

Status Accept(const Executor& executor, sys::UniqueFd listener,
              std::function<void(Socket)> on_client) {
  SendAtOnce(listener.get());
  Socket socket = Adopt(executor, std::move(listener));
  if (!socket.is_open()) return base::SystemError("epoll_ctl of a listening socket", EMFILE);
  Spawn(executor, AcceptAll(executor, std::move(socket), std::move(on_client)));
  return {};
}

}  // namespace cordon::proxy
