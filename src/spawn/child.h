// Runs in: child, between clone and exec, and the stage inside of bubblewrap. Raw
// system calls only.
#pragma once

#include <span>

#include "backend/flat_spec.h"

namespace cordon::spawn {

// The descriptors of the supervisor that the child takes with it.
struct ChildFds {
  int standard[3];
  int control;   // becomes kControlFd
  int status;    // becomes kStatusFd
  int listener;  // socket over which the seccomp listener is sent
  int init;      // the init program, executable
};

// Where those that init does not keep are put; below kFirstFreeFd is what is taken along.
inline constexpr int kListenerSocketFd = 5;
inline constexpr int kInitProgramFd = 6;
inline constexpr int kFirstFreeFd = 7;
inline constexpr int kMostPassedFds = 8;

enum class Others { kClosed, kKept };

struct ChildInput {
  const backend::FlatSpec* spec;
  ChildFds fds;
  std::span<const int> cgroups;  // their cgroup.procs
  // Further ones for the program that is executed, from kFirstFreeFd on. It gets the first
  // seven too then.
  int passed[kMostPassedFds];
  int passed_count;
  Others others;
};

// Runs mount steps in the calling process. Negative errno of the first that failed.
long RunSteps(const backend::FlatStep* steps, size_t count) noexcept;

// The same for all steps of a spec, for good.
long RunHere(const backend::FlatSpec& spec) noexcept;

// Takes descriptors of its own, runs the steps and becomes init. Returns (an exit
// status) only on failure, after it has written a Report to the status pipe.
int RunChild(const ChildInput& input) noexcept;

}  // namespace cordon::spawn
