#include "proxy/async.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <exception>

namespace cordon::proxy {
namespace {

const auto kAwait = asio::as_tuple(asio::use_awaitable_t<Executor>());

ErrorCode FromErrno(int error) { return {error, boost::system::system_category()}; }

// Whether another try will do: after waiting, or at once.
bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

void Spawn(const Executor& executor, Task<void> task) {
  asio::co_spawn(executor, std::move(task), [](const std::exception_ptr&) {});
}

Task<void> Both(Task<void> a, Task<void> b) {
  Executor executor = co_await asio::this_coro::executor;
  Signal ended(executor);
  bool running = true;
  asio::co_spawn(executor, std::move(a), [&](const std::exception_ptr&) {
    running = false;
    ended.Notify();
  });
  co_await std::move(b);
  if (running) co_await ended.Wait();
}

Task<void> Yield() { co_await asio::post(asio::use_awaitable_t<Executor>()); }

Signal::Signal(const Executor& executor) : timer_(executor) {}

void Signal::Notify() {
  notified_ = true;
  timer_.cancel();
}

Task<void> Signal::Wait() { co_await WaitUntil(Clock::time_point::max()); }

Task<void> Signal::WaitUntil(Clock::time_point when) {
  if (!notified_) {
    timer_.expires_at(when);
    co_await timer_.async_wait(kAwait);
  }
  notified_ = false;
}

void SendAtOnce(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket Adopt(const Executor& executor, sys::UniqueFd fd) {
  Socket socket(executor);
  ErrorCode failed;
  socket.assign(asio::ip::tcp::v4(), fd.get(), failed);
  if (!failed) fd.release();
  return socket;
}

Task<ErrorCode> WaitReady(Socket& socket, Ready ready) {
  auto type = ready == Ready::kRead ? Socket::wait_read : Socket::wait_write;
  auto [error] = co_await socket.async_wait(type, kAwait);
  co_return error;
}

Task<ReadResult> ReadSome(Socket& socket, std::span<char> buffer) {
  auto [error, bytes] =
      co_await socket.async_read_some(asio::buffer(buffer.data(), buffer.size()), kAwait);
  if (error == asio::error::eof) co_return ReadResult{};
  co_return ReadResult{bytes, error};
}

Task<ErrorCode> WriteAll(Socket& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent =
        send(socket.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (sent < 0 && WouldBlock(errno)) {
      ErrorCode error = co_await WaitReady(socket, Ready::kWrite);
      if (error) co_return error;
    } else if (sent == 0 || errno != EINTR) {
      co_return FromErrno(errno);
    }
  }
  co_return ErrorCode();
}

void Reset(Socket& socket) {
  linger at_once{.l_onoff = 1, .l_linger = 0};
  if (socket.is_open()) {
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ErrorCode ignored;
  socket.close(ignored);
}

std::optional<Endpoint> LocalEndpoint(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  // native_handle() of a const socket does not exist.
  int fd = const_cast<Socket&>(socket).native_handle();
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  Endpoint endpoint;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof v4);
    std::memcpy(endpoint.address.bytes.data(), &v4.sin_addr, 4);
    endpoint.port = ntohs(v4.sin_port);
    return endpoint;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6;
  std::memcpy(&v6, &storage, sizeof v6);
  endpoint.port = ntohs(v6.sin6_port);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    std::memcpy(endpoint.address.bytes.data(), v6.sin6_addr.s6_addr + 12, 4);
    return endpoint;
  }
  endpoint.address.family = guard::Family::kV6;
  std::memcpy(endpoint.address.bytes.data(), &v6.sin6_addr, 16);
  return endpoint;
}

int StartConnect(int fd, const Endpoint& to) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  const sockaddr* address = reinterpret_cast<const sockaddr*>(&v4);
  socklen_t size = sizeof v4;
  if (to.address.family == guard::Family::kV4) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(to.port));
    std::memcpy(&v4.sin_addr, to.address.bytes.data(), 4);
  } else {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(to.port));
    std::memcpy(&v6.sin6_addr, to.address.bytes.data(), 16);
    address = reinterpret_cast<const sockaddr*>(&v6);
    size = sizeof v6;
  }
  int error = connect(fd, address, size) == 0 ? 0 : errno;
  return error == EISCONN ? 0 : error == EINTR ? EINPROGRESS : error;
}

}  // namespace cordon::proxy
