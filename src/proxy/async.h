// Asio as the proxy uses it: one thread, coroutines, errors as values. Included
// by sources of this folder only, never by a header that others see. The
// templates are instantiated in async.cc alone, for the sake of compile time.
//
// g++ 12 lays out the frame wrongly for some coroutines with co_await inside a
// condition: give its result a name first.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "guard/ip_address.h"
#include "sys/fd.h"

namespace cordon::proxy {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;
using Executor = asio::io_context::executor_type;
template <typename T>
using Task = asio::awaitable<T, Executor>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

// Runs on its own from now on. What it throws (memory ran out) ends only it.
void Spawn(const Executor& executor, Task<void> task);

// Both at the same time, until both have ended.
Task<void> Both(Task<void> a, Task<void> b);

// Lets others run.
Task<void> Yield();

// Waked by a call, or by time.
class Signal {
 public:
  explicit Signal(const Executor& executor);
  void Notify();
  // Until the next Notify, or one since the last wait.
  Task<void> Wait();
  Task<void> WaitUntil(Clock::time_point when);

 private:
  Timer timer_;
  bool notified_ = false;
};

// A descriptor that is a stream socket, non-blocking.
Socket Adopt(const Executor& executor, sys::UniqueFd fd);

// Without waiting for more to send; what a listening socket accepts inherits it.
void SendAtOnce(int fd);

enum class Ready { kRead, kWrite };
Task<ErrorCode> WaitReady(Socket& socket, Ready ready);

struct ReadResult {
  size_t bytes = 0;  // 0 without an error: the end of the stream
  ErrorCode error;
};
// Not to be called again after an end or an error: it would wait forever.
Task<ReadResult> ReadSome(Socket& socket, std::span<char> buffer);
Task<ErrorCode> WriteAll(Socket& socket, std::string_view bytes);

// Ends it so that the other end sees a reset, not an end.
void Reset(Socket& socket);

// An address and port as the kernel has them.
struct Endpoint {
  guard::IpAddress address;
  int port = 0;
};
// An IPv4 address mapped into IPv6 is told as IPv4.
std::optional<Endpoint> LocalEndpoint(const Socket& socket);
// Starts to connect, or asks how far it is: EINPROGRESS, EALREADY or another
// errno, 0 when it is done.
int StartConnect(int fd, const Endpoint& to);

}  // namespace cordon::proxy
