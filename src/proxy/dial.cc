#include "proxy/dial.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <list>
#include <memory>

namespace cordon::proxy {
namespace {

constexpr std::chrono::milliseconds kStagger(250);

// Shared by the attempts, which may outlive the Dial that started them.
struct Race {
  Race(const Executor& ex, SocketFactory make_in)
      : executor(ex), make(std::move(make_in)), changed(ex) {}

  Executor executor;
  SocketFactory make;
  Signal changed;  // an attempt ended
  Dialled result;
  std::list<Socket> live;
  size_t running = 0;
  size_t failures = 0;
};

int ErrorOf(Socket& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

void Fail(Race& race, const Endpoint& to, int failure) {
  ++race.failures;
  if (race.result.socket) return;
  race.result.endpoint = to;
  race.result.failure = failure;
}

Task<void> Attempt(std::shared_ptr<Race> race, std::list<Socket>::iterator socket, Endpoint to) {
  ErrorCode failed = co_await WaitReady(*socket, Ready::kWrite);
  int error = failed ? ETIMEDOUT : ErrorOf(*socket);
  if (error != 0) {
    Fail(*race, to, error);
  } else if (!race->result.socket) {
    race->result = {.socket = std::move(*socket), .endpoint = to};
  }
  race->live.erase(socket);
  --race->running;
  race->changed.Notify();
}

sys::UniqueFd MakeHere(guard::Family family) {
  return sys::UniqueFd(socket(family == guard::Family::kV4 ? AF_INET : AF_INET6,
                              SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void Start(const std::shared_ptr<Race>& race, const Endpoint& to) {
  sys::UniqueFd fd = race->make ? race->make(to.address.family) : MakeHere(to.address.family);
  if (!fd.valid()) return Fail(*race, to, errno);
  SendAtOnce(fd.get());
  int error = StartConnect(fd.get(), to);
  // Near hosts have answered by now: asking again is cheaper than waiting.
  if (error == EINPROGRESS) error = StartConnect(fd.get(), to);
  if (error == EALREADY) error = EINPROGRESS;
  if (error != 0 && error != EINPROGRESS) return Fail(*race, to, error);
  race->live.push_back(Adopt(race->executor, std::move(fd)));
  if (!race->live.back().is_open()) {
    race->live.pop_back();
    return Fail(*race, to, EMFILE);
  }
  if (error == 0) {
    race->result = {.socket = std::move(race->live.back()), .endpoint = to};
    race->live.pop_back();
    return;
  }
  ++race->running;
  Spawn(race->executor, Attempt(race, std::prev(race->live.end()), to));
}

// IPv6 and IPv4 in turn, in the order of each.
std::vector<Endpoint> Interleaved(const std::vector<Endpoint>& endpoints) {
  std::vector<Endpoint> mixed, v6, v4;
  for (const Endpoint& endpoint : endpoints) {
    (endpoint.address.family == guard::Family::kV6 ? v6 : v4).push_back(endpoint);
  }
  for (size_t i = 0; i < std::max(v6.size(), v4.size()); ++i) {
    if (i < v6.size()) mixed.push_back(v6[i]);
    if (i < v4.size()) mixed.push_back(v4[i]);
  }
  return mixed;
}

}  // namespace

Task<Dialled> Dial(std::vector<Endpoint> endpoints, Clock::time_point deadline,
                   SocketFactory make) {
  Executor executor = co_await asio::this_coro::executor;
  auto race = std::make_shared<Race>(executor, std::move(make));
  race->result.failure = EHOSTUNREACH;
  for (const Endpoint& endpoint : Interleaved(endpoints)) {
    size_t failures = race->failures;
    Start(race, endpoint);
    auto next = std::min(deadline, Clock::now() + kStagger);
    while (!race->result.socket && race->failures == failures && Clock::now() < next) {
      co_await race->changed.WaitUntil(next);
    }
    if (race->result.socket || Clock::now() >= deadline) break;
  }
  while (!race->result.socket && race->running > 0 && Clock::now() < deadline) {
    co_await race->changed.WaitUntil(deadline);
  }
  if (!race->result.socket && race->running > 0) race->result.failure = ETIMEDOUT;
  for (Socket& loser : race->live) {
    ErrorCode ignored;
    loser.close(ignored);  // its attempt ends and takes it off the list
  }
  co_return std::move(race->result);
}

}  // namespace cordon::proxy
