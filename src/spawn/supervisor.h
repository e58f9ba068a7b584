// Runs in: supervisor. One run from launch to outcome: drains the streams while
// it waits, keeps the deadlines and limits, passes signals, ends the tree.
#pragma once

#include <functional>
#include <vector>

#include "backend/child_spec.h"
#include "cordon/outcome.h"
#include "plan/plan.h"
#include "spawn/launch.h"
#include "spawn/socket_maker.h"
#include "spawn/violation_log.h"

namespace cordon::spawn {

enum class OutputMode {
  kPass,     // the command has the caller's streams themselves
  kRelay,    // passed on through pipes, cut at limits.output
  kCapture,  // kept in the Outcome, cut at limits.output
};

// kSealed: once the sandbox runs, this process becomes unreadable to others of
// its user and gives up any capability, for as long as it lives. For a program
// that does nothing but supervise.
enum class SelfProtection { kNone, kSealed };

// Takes the sockets that were made inside, before the command can use them;
// `pidfd` is the sandbox's first process. An error ends the run.
using SocketTaker = std::function<Status(std::vector<sys::UniqueFd> sockets, int pidfd)>;

// A cgroup that holds limits of the run.
struct Cgroup {
  std::vector<int> entries;                // its cgroup.procs, one per hierarchy
  std::function<uint64_t()> memory_kills;  // how many processes it has ended for want of memory
};

struct SuperviseOptions {
  Streams streams;
  OutputMode output = OutputMode::kPass;
  int cancel_fd = -1;  // readable: end the run
  int signal_fd = -1;  // a signalfd whose signals are the command's
  SelfProtection self = SelfProtection::kNone;
  Cgroup cgroup;
  SocketTaker on_sockets;
  ViolationSink on_violation;
  BeforeConnect before_connect;          // on the broker's thread
  std::function<void(pid_t)> on_launch;  // the sandbox's first process, before the command starts
};

// An Error means that the command never ran.
Result<Outcome> Supervise(const plan::Plan& plan, const backend::ChildSpec& spec, Clone& clone,
                          const SuperviseOptions& options);

}  // namespace cordon::spawn
