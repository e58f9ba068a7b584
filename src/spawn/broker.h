// Runs in: supervisor, in a thread of its own. The one listener of the
// sandbox's seccomp filter: it answers the calls that create names or connect
// sockets, by doing them on the caller's behalf, by descriptor. It never lets a
// call continue whose decision rests on memory the caller can change; umask(),
// whose argument is a value, is the one that continues.
//
// What it creates goes through the caller's own mounts, so read-only stays
// read-only; the writable regions of the plan are checked besides, as the
// caller's Landlock domain does not bind the supervisor. All names are made by
// this one thread, so no two calls can race past a check. Where there are no
// namespaces it opens every file and changes every name, by the plan's regions.
// What may wait for
// another process (a FIFO, a blocking connect) waits in a thread of its own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "cordon/outcome.h"
#include "plan/plan.h"
#include "spawn/socket_maker.h"
#include "spawn/violation_log.h"
#include "sys/fd.h"

namespace cordon::spawn {

struct BrokerFindings {
  std::vector<Violation> violations;
  std::vector<std::string> new_repositories;
};

// Both are called on the broker's thread.
struct BrokerHooks {
  ViolationSink on_violation;
  BeforeConnect before_connect;
};

// The first process of the sandbox. The descriptor must outlive the broker.
struct Sandboxed {
  pid_t pid;
  int pidfd;
};

class Broker {
 public:
  // Starts answering. `root` is the root of the sandbox's file system.
  static Result<std::unique_ptr<Broker>> Start(sys::UniqueFd listener, sys::UniqueFd root,
                                               const Sandboxed& sandbox, const plan::Plan& plan,
                                               BrokerHooks hooks);
  virtual ~Broker() = default;  // stops and joins

  // Readable when a caller could not be answered: the run has to end.
  virtual int broken() const = 0;
  // After the sandbox has ended.
  virtual BrokerFindings Finish() = 0;
};

}  // namespace cordon::spawn
