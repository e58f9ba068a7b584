// The network of one run: gives the sockets that were made inside to a proxy,
// and keeps what it denied for the outcome.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "audit/log.h"
#include "cordon/outcome.h"
#include "plan/net_plan.h"
#include "proxy/proxy.h"
#include "session/interception.h"
#include "sys/fd.h"

namespace cordon::session {

class Egress {
 public:
  // `log` may be null; it outlives this.
  Egress(const plan::NetPlan& net, audit::Log* log) : net_(net), log_(log) {}

  // Whether the run needs a proxy at all.
  bool needed() const;
  // Before the start: TLS is looked into with these, which are taken.
  void LookInto(Interception& interception);
  // `sockets` are those of backend::InsideSockets.
  Status Start(std::vector<sys::UniqueFd> sockets, int pidfd);
  // Ends the proxy; after it the violations are complete.
  std::vector<Violation> Finish();

 private:
  Result<std::vector<proxy::Forward>> Publish() const;
  void Record(const proxy::NetEvent& event);

  const plan::NetPlan& net_;
  audit::Log* log_;
  sys::UniqueFd tls_;
  std::vector<proxy::Secret> secrets_;
  std::mutex mutex_;
  std::vector<Violation> violations_;  // guarded by mutex_
  uint64_t dropped_ = 0;               // guarded by mutex_
  std::optional<proxy::Proxy> proxy_;
};

}  // namespace cordon::session
