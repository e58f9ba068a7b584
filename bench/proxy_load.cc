#include "proxy_load.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fair_run.h"

namespace cordon::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kChunk = 256 * 1024;
constexpr int kBacklog = 1024;
constexpr int kPatienceMs = 3000;
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

// What is said, and the answer that must come before the next is said.
struct Step {
  std::string say;
  size_t bytes = 0;  // of the answer; 0: until an empty line
  size_t at = 0;     // where in it `wanted` must be
  std::string wanted;

  bool Complete(std::string_view heard) const {
    return bytes > 0 ? heard.size() >= bytes : heard.ends_with("\r\n\r\n");
  }
  bool Good(std::string_view heard) const {
    return heard.size() >= at + wanted.size() && heard.substr(at, wanted.size()) == wanted;
  }
};

std::vector<Step> StepsOf(const Route& route) {
  const std::string zero(1, '\0');
  if (route.way == Way::kConnect) {
    std::string to = "127.0.0.1:" + std::to_string(route.target);
    return {{"CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n", 0, 9, "200"}};
  }
  if (route.way == Way::kDirect) return {};
  std::string request("\5\1\0\1\177\0\0\1", 8);
  request += static_cast<char>(route.target >> 8);
  request += static_cast<char>(route.target & 0xff);
  return {{std::string("\5\1\0", 3), 2, 1, zero}, {request, 10, 1, zero}};
}

bool Say(int fd, std::string_view text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// One connection through its steps to the server's end of it. The server closes
// first, so that no port of the client stays taken.
class Visit {
 public:
  enum class State { kOpen, kDone, kFailed };

  explicit Visit(const std::vector<Step>& steps, int port)
      : steps_(steps), fd_(ConnectToLoopback(port)) {
    if (!fd_.valid() || (!AllHeard() && !Say(fd_.get(), steps_[0].say))) state_ = State::kFailed;
  }

  // Takes what has come, or waits for it.
  void GoOn() {
    char part[512];
    ssize_t got = recv(fd_.get(), part, sizeof part, 0);
    if (got <= 0) {
      state_ = got == 0 && AllHeard() ? State::kDone : State::kFailed;
      return;
    }
    heard_.append(part, static_cast<size_t>(got));
    if (AllHeard() || !steps_[step_].Complete(heard_)) return;
    bool good = steps_[step_].Good(heard_);
    heard_.clear();
    ++step_;
    if (!good || (!AllHeard() && !Say(fd_.get(), steps_[step_].say))) state_ = State::kFailed;
  }

  bool AllHeard() const { return step_ == steps_.size(); }
  State state() const { return state_; }
  int fd() const { return fd_.get(); }
  sys::UniqueFd TakeFd() { return std::move(fd_); }

 private:
  const std::vector<Step>& steps_;
  sys::UniqueFd fd_;
  size_t step_ = 0;
  std::string heard_;
  State state_ = State::kOpen;
};

std::vector<Step> StepsOfVisit(const Route& route) {
  std::vector<Step> steps = StepsOf(route);
  steps.push_back({"e", 1, 0, "e"});
  return steps;
}

double MeasureLatency(const Route& route) {
  const std::vector<Step> steps = StepsOfVisit(route);
  std::vector<double> samples;
  for (auto until = Clock::now() + kLatencyTime; Clock::now() < until;) {
    auto began = Clock::now();
    Visit visit(steps, route.port);
    while (visit.state() == Visit::State::kOpen && !visit.AllHeard()) visit.GoOn();
    std::chrono::duration<double, std::micro> took = Clock::now() - began;
    samples.push_back(took.count());
    while (visit.state() == Visit::State::kOpen) visit.GoOn();
    if (visit.state() == Visit::State::kFailed) return 0;
  }
  return Median(std::move(samples));
}

class Poller {
 public:
  void Add(int fd, uint64_t key) {
    epoll_event wanted{.events = EPOLLIN, .data = {.u64 = key}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted);
  }
  // Nothing if it takes too long.
  std::span<const epoll_event> Wait() {
    int count = epoll_wait(epoll_.get(), ready_.data(), ready_.size(), kPatienceMs);
    return {ready_.data(), count > 0 ? static_cast<size_t>(count) : 0};
  }

 private:
  sys::UniqueFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  std::array<epoll_event, 64> ready_;
};

double MeasureRate(const Route& route) {
  const std::vector<Step> steps = StepsOfVisit(route);
  auto began = Clock::now();
  Poller poller;
  std::vector<std::optional<Visit>> visits(kAtATime);
  for (size_t i = 0; i < visits.size(); ++i) {
    poller.Add(visits[i].emplace(steps, route.port).fd(), i);
  }
  int done = 0;
  for (size_t open = visits.size(); open > 0;) {
    auto ready = poller.Wait();
    if (ready.empty()) return 0;
    for (const epoll_event& event : ready) {
      std::optional<Visit>& visit = visits[event.data.u64];
      visit->GoOn();
      if (visit->state() == Visit::State::kFailed) return 0;
      if (visit->state() == Visit::State::kOpen) continue;
      ++done;
      visit.reset();
      if (Clock::now() < began + kRateTime) {
        poller.Add(visit.emplace(steps, route.port).fd(), event.data.u64);
      } else {
        --open;
      }
    }
  }
  std::chrono::duration<double> took = Clock::now() - began;
  return done / took.count();
}

sys::UniqueFd OpenTunnel(const Route& route) {
  const std::vector<Step> steps = StepsOf(route);
  Visit visit(steps, route.port);
  while (visit.state() == Visit::State::kOpen && !visit.AllHeard()) visit.GoOn();
  return visit.state() == Visit::State::kOpen ? visit.TakeFd() : sys::UniqueFd();
}

double MeasureBulk(const Route& route, int streams) {
  Poller poller;
  std::vector<sys::UniqueFd> fds;
  for (int i = 0; i < streams; ++i) {
    fds.push_back(OpenTunnel(route));
    if (!fds.back().valid()) return 0;
    poller.Add(fds.back().get(), static_cast<uint64_t>(fds.back().get()));
  }
  // Only now: a stream that nobody reads yet fills the kernel's buffers.
  for (const sys::UniqueFd& fd : fds) Say(fd.get(), "b");
  std::vector<char> buffer(kChunk);
  auto counts_from = Clock::now() + kBulkWarmUp;
  double bytes = 0;
  for (auto now = Clock::now(); now < counts_from + kBulkTime; now = Clock::now()) {
    auto ready = poller.Wait();
    if (ready.empty()) return 0;
    for (const epoll_event& event : ready) {
      ssize_t got = recv(static_cast<int>(event.data.u64), buffer.data(), buffer.size(), 0);
      if (got <= 0) return 0;
      if (now >= counts_from) bytes += static_cast<double>(got);
    }
  }
  std::chrono::duration<double> took = Clock::now() - counts_from;
  return bytes / took.count();
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
  timeval patience{.tv_sec = kPatienceMs / 1000, .tv_usec = 0};
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
