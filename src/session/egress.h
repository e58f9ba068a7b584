// The network of one run: gives the sockets that were made inside to a proxy,
// and keeps what it denied for the outcome.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "audit/log.h"
#include "cordon/outcome.h"
#include "plan/net_plan.h"
#include "proxy/proxy.h"
#include "session/interception.h"
#include "sys/fd.h"

namespace cordon::session {

// A listening socket at that port of 127.0.0.1, 0 for any.
Result<sys::UniqueFd> ListenOnLoopback(int port);
Result<int> PortOf(const sys::UniqueFd& socket);

// Whether a run by this policy has a proxy of ours.
bool NeedsProxy(const NetPolicy& net);

class Egress {
 public:
  // `log` may be null; it outlives this.
  Egress(const plan::NetPlan& net, audit::Log* log) : net_(net), log_(log) {}

  // Whether the run needs a proxy at all.
  bool needed() const;
  // Before the start: TLS is looked into with these, which are taken.
  void LookInto(Interception& interception);
  // Before the start: the proxy that net.external starts listens there.
  void LeadToExternal(int port) { external_port_ = port; }
  // `sockets` are those of backend::InsideSockets.
  Status Start(std::vector<sys::UniqueFd> sockets, int pidfd);
  // In mode `public` any port may be meant: makes a listener for an address and port
  // that a program is about to connect to. On one thread.
  bool captures_any() const { return net_.captures() && net_.mode == NetMode::kPublic; }
  void CaptureAt(const std::string& address);
  // After the start, until it ends: the rules change when `news` has others.
  void Follow(std::function<std::optional<guard::NetRules>()> news);
  // Ends the proxy; after it the violations are complete.
  std::vector<Violation> Finish();

 private:
  Result<std::vector<proxy::Forward>> Publish() const;
  void Record(const proxy::NetEvent& event);

  const plan::NetPlan& net_;
  audit::Log* log_;
  sys::UniqueFd tls_;
  int external_port_ = 0;
  int pidfd_ = -1;
  std::set<std::string> captured_;  // by CaptureAt
  std::vector<proxy::Secret> secrets_;
  std::mutex mutex_;
  std::vector<Violation> violations_;  // guarded by mutex_
  uint64_t dropped_ = 0;               // guarded by mutex_
  std::optional<proxy::Proxy> proxy_;
  std::jthread follower_;  // uses proxy_
};

}  // namespace cordon::session
