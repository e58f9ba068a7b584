// The programs that the proxy benchmark starts: Cordon's proxy, its peers where
// they are installed, and clients inside and outside the sandbox.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy_load.h"

namespace cordon::bench {

// A process that ends with this object, at the latest with the benchmark.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child();
  bool Ended();

 private:
  pid_t pid_;
};

Child StartTarget(sys::UniqueFd listener);

// The measuring end in a process of its own, started by way of `wrapper`.
class Client {
 public:
  static Client Start(std::vector<std::string> wrapper);
  double Ask(Measure measure, const Route& route);

 private:
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<FILE, CloseFile>;
  Client(Child child, File orders, File answers)
      : child_(std::move(child)), orders_(std::move(orders)), answers_(std::move(answers)) {}
  Child child_;
  File orders_;
  File answers_;
};

// A proxy that will listen on a port of 127.0.0.1.
struct Peer {
  std::string name;
  Way way = Way::kDirect;
  int port = 0;
  std::vector<std::string> argv;
};
Peer CordonProxy(const std::string& cordon, int target);
// Those whose program is there; their files are written to the current directory.
std::vector<Peer> InstalledPeers(int target);
// Nothing if it does not listen within some seconds.
std::optional<Child> StartPeer(const Peer& peer);

}  // namespace cordon::bench
