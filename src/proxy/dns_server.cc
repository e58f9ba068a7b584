#include "proxy/dns_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace cordon::proxy {
namespace {

constexpr size_t kMaxQuery = 4096;  // far more than a query needs
constexpr int kBatch = 64;          // datagrams before others have a turn
constexpr size_t kMaxMessage = 65'535;
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

struct Datagram {
  sockaddr_storage peer{};
  socklen_t peer_size = 0;
  // Comes with the address that was asked, goes with the address to send from.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in6_pktinfo))> control{};
  size_t control_size = 0;
  std::array<uint8_t, kMaxQuery> bytes;
  size_t size = 0;
};

msghdr HeaderOf(Datagram& datagram, iovec& data) {
  msghdr header{};
  header.msg_name = &datagram.peer;
  header.msg_namelen = sizeof datagram.peer;
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = datagram.control.data();
  header.msg_controllen = datagram.control.size();
  return header;
}

// The address asked becomes the one to send from. The interface is left open:
// the address is local by a route, not of an interface.
void TurnAround(msghdr& header) {
  cmsghdr* message = CMSG_FIRSTHDR(&header);
  if (!message) return;
  if (message->cmsg_level == IPPROTO_IP && message->cmsg_type == IP_PKTINFO) {
    in_pktinfo info;
    std::memcpy(&info, CMSG_DATA(message), sizeof info);
    info.ipi_spec_dst = info.ipi_addr;
    info.ipi_ifindex = 0;
    std::memcpy(CMSG_DATA(message), &info, sizeof info);
  } else if (message->cmsg_level == IPPROTO_IPV6 && message->cmsg_type == IPV6_PKTINFO) {
    in6_pktinfo info;
    std::memcpy(&info, CMSG_DATA(message), sizeof info);
    info.ipi6_ifindex = 0;
    std::memcpy(CMSG_DATA(message), &info, sizeof info);
  }
}

bool Receive(int fd, Datagram& datagram) {
  iovec data{datagram.bytes.data(), datagram.bytes.size()};
  msghdr header = HeaderOf(datagram, data);
  ssize_t size = recvmsg(fd, &header, MSG_DONTWAIT);
  if (size < 0) return false;
  // What did not fit is no query; without bytes it is passed over.
  datagram.size = header.msg_flags & MSG_TRUNC ? 0 : static_cast<size_t>(size);
  datagram.peer_size = header.msg_namelen;
  datagram.control_size = header.msg_controllen;
  TurnAround(header);
  return true;
}

// An answer that cannot be sent now is lost, as datagrams may be.
void Send(int fd, Datagram& datagram, std::vector<uint8_t> answer) {
  iovec data{answer.data(), answer.size()};
  msghdr header = HeaderOf(datagram, data);
  header.msg_namelen = datagram.peer_size;
  header.msg_controllen = datagram.control_size;
  sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

using SharedSocket = std::shared_ptr<Socket>;
using SharedResponder = std::shared_ptr<DnsResponder>;

Task<void> ResolveAndSend(SharedSocket socket, SharedResponder responder, DnsQuery query,
                          std::shared_ptr<Datagram> datagram) {
  DnsAnswer answer = co_await responder->Resolve(query);
  Send(socket->native_handle(), *datagram, BuildDnsAnswer(query, answer, query.udp_size));
}

// What can be said about the query without waiting.
std::optional<DnsAnswer> AnswerNow(const DnsReading& reading, DnsResponder& responder) {
  if (reading.state == DnsReading::State::kFault) return DnsAnswer{.code = reading.fault};
  return responder.AnswerNow(reading.query);
}

void Handle(const SharedSocket& socket, const SharedResponder& responder, Datagram& datagram) {
  DnsReading reading = ReadDnsQuery(std::span(datagram.bytes).first(datagram.size));
  if (reading.state == DnsReading::State::kIgnore) return;
  if (std::optional<DnsAnswer> answer = AnswerNow(reading, *responder)) {
    Send(socket->native_handle(), datagram,
         BuildDnsAnswer(reading.query, *answer, reading.query.udp_size));
    return;
  }
  Spawn(socket->get_executor(), ResolveAndSend(socket, responder, std::move(reading.query),
                                               std::make_shared<Datagram>(datagram)));
}

Task<void> ServeUdp(SharedSocket socket, SharedResponder responder) {
  auto datagram = std::make_unique<Datagram>();
  for (;;) {
    ErrorCode failed = co_await WaitReady(*socket, Ready::kRead);
    if (failed) co_return;
    for (int i = 0; i < kBatch && Receive(socket->native_handle(), *datagram); ++i) {
      Handle(socket, responder, *datagram);
    }
  }
}

struct Stream {
  Stream(Socket accepted, std::shared_ptr<size_t> open)
      : socket(std::move(accepted)), ended(socket.get_executor()), count(std::move(open)) {
    ++*count;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { --*count; }

  Socket socket;
  Signal ended;
  Clock::time_point deadline;
  std::shared_ptr<size_t> count;  // of the connections that are open
};

Task<bool> ReadExactly(Socket& socket, std::span<char> buffer) {
  while (!buffer.empty()) {
    ReadResult result = co_await ReadSome(socket, buffer);
    if (result.error || result.bytes == 0) co_return false;
    buffer = buffer.subspan(result.bytes);
  }
  co_return true;
}

// The next query with its length in front; nothing at the end.
Task<std::vector<char>> ReadQuery(Socket& socket) {
  std::array<char, 2> prefix;
  std::vector<char> query;
  bool read = co_await ReadExactly(socket, prefix);
  if (!read) co_return query;
  query.resize(size_t{static_cast<uint8_t>(prefix[0])} << 8 | static_cast<uint8_t>(prefix[1]));
  if (query.size() > kMaxQuery) query.clear();
  read = co_await ReadExactly(socket, query);
  if (!read) query.clear();
  co_return query;
}

Task<bool> WriteAnswer(Socket& socket, std::vector<uint8_t> answer) {
  std::string message = {static_cast<char>(answer.size() >> 8), static_cast<char>(answer.size())};
  message.append(answer.begin(), answer.end());
  ErrorCode failed = co_await WriteAll(socket, message);
  co_return !failed;
}

// Whether another query may follow.
Task<bool> ServeQuery(Socket& socket, DnsResponder& responder) {
  std::vector<char> bytes = co_await ReadQuery(socket);
  DnsReading reading = ReadDnsQuery({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  if (reading.state == DnsReading::State::kIgnore) co_return false;
  std::optional<DnsAnswer> answer = AnswerNow(reading, responder);
  if (!answer) answer = co_await responder.Resolve(reading.query);
  co_return co_await WriteAnswer(socket, BuildDnsAnswer(reading.query, *answer, kMaxMessage));
}

// Closes the connection when its deadline has passed.
Task<void> Watch(std::shared_ptr<Stream> stream) {
  while (stream->socket.is_open() && Clock::now() < stream->deadline) {
    co_await stream->ended.WaitUntil(stream->deadline);
  }
  ErrorCode ignored;
  stream->socket.close(ignored);
}

Task<void> ServeStream(std::shared_ptr<Stream> stream, SharedResponder responder,
                       std::chrono::milliseconds most) {
  stream->deadline = Clock::now() + most;
  Spawn(stream->socket.get_executor(), Watch(stream));
  for (bool more = true; more;) {
    stream->deadline = Clock::now() + most;
    more = co_await ServeQuery(stream->socket, *responder);
  }
  ErrorCode ignored;
  stream->socket.close(ignored);
  stream->ended.Notify();
}

Task<void> ServeTcp(SharedSocket listener, SharedResponder responder, DnsLimits limits,
                    std::shared_ptr<size_t> open) {
  Signal pause(listener->get_executor());
  for (;;) {
    ErrorCode failed = co_await WaitReady(*listener, Ready::kRead);
    if (failed) co_return;
    sys::UniqueFd fd(
        accept4(listener->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      // Out of descriptors the listener stays ready, and would be tried without end.
      co_await pause.WaitUntil(Clock::now() + kAcceptPause);
    } else if (*open < limits.connections) {
      auto stream = std::make_shared<Stream>(Adopt(listener->get_executor(), std::move(fd)), open);
      Spawn(listener->get_executor(),
            ServeStream(stream, responder, std::chrono::milliseconds(limits.query_ms)));
    }
  }
}

// Asks for the address that each datagram was sent to.
Status WantDestination(int fd) {
  int family = 0;
  socklen_t size = sizeof family;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
    return base::SystemError("getsockopt SO_DOMAIN", errno);
  }
  const int on = 1;
  const int failed = family == AF_INET6
                         ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on)
                         : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  if (failed) return base::SystemError("setsockopt PKTINFO", errno);
  return {};
}

Result<SharedSocket> Share(const Executor& executor, sys::UniqueFd fd) {
  auto socket = std::make_shared<Socket>(Adopt(executor, std::move(fd)));
  if (!socket->is_open()) return base::SystemError("epoll_ctl", errno);
  return socket;
}

}  // namespace

Status ServeDns(const Executor& executor, const std::shared_ptr<DnsResponder>& responder,
                DnsSockets sockets, DnsLimits limits) {
  for (sys::UniqueFd& fd : sockets.udp) {
    CORDON_TRY(WantDestination(fd.get()));
    CORDON_ASSIGN_OR_RETURN(SharedSocket socket, Share(executor, std::move(fd)));
    Spawn(executor, ServeUdp(std::move(socket), responder));
  }
  auto open = std::make_shared<size_t>(0);
  for (sys::UniqueFd& fd : sockets.tcp) {
    CORDON_ASSIGN_OR_RETURN(SharedSocket listener, Share(executor, std::move(fd)));
    Spawn(executor, ServeTcp(std::move(listener), responder, limits, open));
  }
  return {};
}

}  // namespace cordon::proxy
