// Runs in: child, between clone and exec. Raw system calls only.
#pragma once

#include <span>

#include "backend/child_spec.h"

namespace cordon::spawn {

// The descriptors of the supervisor that the child takes with it.
struct ChildFds {
  int standard[3];
  int control;   // becomes kControlFd
  int status;    // becomes kStatusFd
  int listener;  // socket over which the seccomp listener is sent
  int init;      // the init program, executable
};

// Below it, the child puts what it takes along.
inline constexpr int kFirstFreeFd = 7;

struct ChildInput {
  const backend::ChildSpec* spec;
  ChildFds fds;
  std::span<const int> cgroups;  // their cgroup.procs
  const char* const* init_argv;
  const char* const* environment;
  unsigned first_closed;  // every descriptor from here on is closed
};

// Runs mount steps in the calling process. Negative errno of the first that failed.
long RunSteps(const std::vector<backend::Step>& steps) noexcept;

// Takes descriptors of its own, runs the steps and becomes init. Returns (an exit
// status) only on failure, after it has written a Report to the status pipe.
int RunChild(const ChildInput& input) noexcept;

}  // namespace cordon::spawn
