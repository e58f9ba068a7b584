#include "proxy_load.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "fair_run.h"

namespace cordon::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kChunk = 256 * 1024;
constexpr int kBacklog = 1024;
constexpr int kAtATime = 32;
constexpr int kManyStreams = 64;
constexpr milliseconds kLatencyTime(100);
constexpr milliseconds kRateTime(200);
constexpr milliseconds kBulkWarmUp(60);
constexpr milliseconds kBulkTime(150);

// --- the server ---------------------------------------------------------------

void AcceptAll(int epoll, int listener) {
  for (;;) {
    int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted);
  }
}

// Whether the connection goes on.
bool Answer(int epoll, int fd) {
  char asked = 0;
  if (recv(fd, &asked, 1, 0) != 1) return false;
  if (asked != 'b') {
    send(fd, &asked, 1, MSG_NOSIGNAL);
    return false;
  }
  epoll_event wanted{.events = EPOLLOUT, .data = {.fd = fd}};
  return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &wanted) == 0;
}

bool Stream(int fd) {
  static const std::array<char, kChunk> kBytes{};
  return send(fd, kBytes.data(), kBytes.size(), MSG_NOSIGNAL) > 0 || errno == EAGAIN;
}

// --- the client ---------------------------------------------------------------

bool Say(const sys::UniqueFd& fd, std::string_view text) {
  return send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

bool ConnectByHttp(const sys::UniqueFd& fd, int target) {
  std::string to = "127.0.0.1:" + std::to_string(target);
  if (!Say(fd, "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n")) return false;
  std::string head;
  char part[512];
  while (!head.ends_with("\r\n\r\n")) {
    ssize_t got = recv(fd.get(), part, sizeof part, 0);
    if (got <= 0) return false;
    head.append(part, static_cast<size_t>(got));
  }
  return head.starts_with("HTTP/1.1 200") || head.starts_with("HTTP/1.0 200");
}

bool ConnectBySocks(const sys::UniqueFd& fd, int target) {
  char answer[10];
  if (!Say(fd, std::string_view("\5\1\0", 3)) || recv(fd.get(), answer, 2, MSG_WAITALL) != 2 ||
      answer[1] != 0) {
    return false;
  }
  std::string request("\5\1\0\1\177\0\0\1", 8);
  request += static_cast<char>(target >> 8);
  request += static_cast<char>(target & 0xff);
  return Say(fd, request) && recv(fd.get(), answer, sizeof answer, MSG_WAITALL) == sizeof answer &&
         answer[1] == 0;
}

sys::UniqueFd OpenTunnel(const Route& route) {
  sys::UniqueFd fd = ConnectToLoopback(route.port);
  bool open = fd.valid();
  if (open && route.way == Way::kConnect) open = ConnectByHttp(fd, route.target);
  if (open && route.way == Way::kSocks5) open = ConnectBySocks(fd, route.target);
  return open ? std::move(fd) : sys::UniqueFd();
}

// One connection from its beginning to the server's end of it: µs to the first
// byte. The server closes first, so that no port of the client stays taken.
double VisitOnce(const Route& route) {
  auto began = Clock::now();
  sys::UniqueFd fd = OpenTunnel(route);
  char byte;
  if (!fd.valid() || !Say(fd, "e") || recv(fd.get(), &byte, 1, 0) != 1) return 0;
  std::chrono::duration<double, std::micro> took = Clock::now() - began;
  return recv(fd.get(), &byte, 1, 0) == 0 ? took.count() : 0;
}

double MeasureLatency(const Route& route) {
  std::vector<double> samples;
  for (auto until = Clock::now() + kLatencyTime; Clock::now() < until;) {
    samples.push_back(VisitOnce(route));
    if (samples.back() == 0) return 0;
  }
  return Median(std::move(samples));
}

double MeasureRate(const Route& route) {
  std::atomic<int> visits = 0;
  std::atomic<bool> failed = false;
  auto began = Clock::now();
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kAtATime; ++i) {
      clients.emplace_back([&] {
        while (!failed && Clock::now() < began + kRateTime) {
          if (VisitOnce(route) == 0) failed = true;
          ++visits;
        }
      });
    }
  }
  std::chrono::duration<double> took = Clock::now() - began;
  return failed ? 0 : visits / took.count();
}

struct Flow {
  std::atomic<uint64_t> bytes = 0;
  std::atomic<bool> failed = false;
  std::atomic<bool> enough = false;
};

void Drink(const Route& route, Flow& flow) {
  sys::UniqueFd fd = OpenTunnel(route);
  std::vector<char> buffer(kChunk);
  ssize_t got = fd.valid() && Say(fd, "b") ? 1 : 0;
  while (got > 0 && !flow.enough) {
    got = recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) flow.bytes += static_cast<uint64_t>(got);
  }
  if (got <= 0) flow.failed = true;
}

double MeasureBulk(const Route& route, int streams) {
  Flow flow;
  std::vector<std::jthread> clients;
  for (int i = 0; i < streams; ++i) clients.emplace_back([&] { Drink(route, flow); });
  std::this_thread::sleep_for(kBulkWarmUp);
  uint64_t before = flow.bytes;
  auto began = Clock::now();
  std::this_thread::sleep_for(kBulkTime);
  std::chrono::duration<double> took = Clock::now() - began;
  auto taken = static_cast<double>(flow.bytes - before);
  flow.enough = true;
  clients.clear();
  return flow.failed ? 0 : taken / took.count();
}

}  // namespace

sys::UniqueFd ListenOnLoopback() {
  sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool listens = bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                 listen(fd.get(), kBacklog) == 0;
  return listens ? std::move(fd) : sys::UniqueFd();
}

int PortOf(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

sys::UniqueFd ConnectToLoopback(int port) {
  sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  timeval patience{.tv_sec = 3, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool open = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  return open ? std::move(fd) : sys::UniqueFd();
}

void ServeTarget(sys::UniqueFd listener) {
  sys::UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener.get()}};
  epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listener.get(), &wanted);
  std::array<epoll_event, 64> ready;
  for (;;) {
    int count = epoll_wait(epoll.get(), ready.data(), ready.size(), -1);
    for (int i = 0; i < count; ++i) {
      int fd = ready[i].data.fd;
      if (fd == listener.get()) {
        AcceptAll(epoll.get(), fd);
      } else if (!((ready[i].events & EPOLLOUT) ? Stream(fd) : Answer(epoll.get(), fd))) {
        close(fd);
      }
    }
  }
}

double MeasureOnce(Measure measure, const Route& route) {
  switch (measure) {
    case Measure::kLatency:
      return MeasureLatency(route);
    case Measure::kRate:
      return MeasureRate(route);
    case Measure::kOneStream:
      return MeasureBulk(route, 1);
    case Measure::kManyStreams:
      return MeasureBulk(route, kManyStreams);
  }
  return 0;
}

std::string FormatOrder(Measure measure, const Route& route) {
  std::string line = std::to_string(static_cast<int>(measure));
  for (int value : {static_cast<int>(route.way), route.port, route.target}) {
    line += " " + std::to_string(value);
  }
  return line + "\n";
}

void ServeOrders() {
  int measure, way;
  Route route;
  while (std::scanf("%d %d %d %d", &measure, &way, &route.port, &route.target) == 4) {
    route.way = static_cast<Way>(way);
    std::printf("%f\n", MeasureOnce(static_cast<Measure>(measure), route));
    std::fflush(stdout);
  }
  std::exit(0);
}

}  // namespace cordon::bench
