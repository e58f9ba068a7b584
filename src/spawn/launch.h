// Runs in: supervisor. From a frozen ChildSpec to a running sandbox.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "backend/child_spec.h"
#include "cordon/result.h"
#include "spawn/clone.h"
#include "sys/fd.h"

namespace cordon::spawn {

// The supervisor's ends. Closing `control` ends the sandbox.
struct Launched {
  pid_t pid = -1;                      // of init
  pid_t child = -1;                    // of this process: init, or the bubblewrap around it
  sys::UniqueFd pidfd;                 // of init
  sys::UniqueFd control;               // Control messages go in here
  sys::UniqueFd status;                // Reports come out here
  sys::UniqueFd terminal;              // master of the sandbox's terminal, if the spec has one
  std::vector<sys::UniqueFd> sockets;  // made inside, in the order of the kListen steps
  sys::UniqueFd listener;              // seccomp notifications; invalid if the spec has no filter
  sys::UniqueFd root;  // of the sandbox's file system, O_PATH; comes with the listener
};

// The program of init and of the watcher, sealed and executable.
Result<sys::UniqueFd> InitProgram();

struct Streams {
  int in = 0;
  int out = 1;
  int err = 2;
};

// Tells the clone what to do; it has the namespaces of the spec. Returns once init runs; the
// command itself may still fail to start, which the status pipe tells. A step that failed is an
// error that names it.
Result<Launched> Launch(Clone& clone, const backend::ChildSpec& spec, const Streams& streams,
                        std::span<const int> cgroups);

}  // namespace cordon::spawn
