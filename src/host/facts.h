// What this machine can do, probed by asking the kernel, never by a version.
// A value: tests write their own.
#pragma once

#include <stdint.h>

#include <string>

namespace cordon::host {

struct Facts {
  int landlock_abi = 0;  // 0: none
  bool idmapped_mounts = false;
  bool ipv6 = false;
  std::string hostname;
  uint32_t uid = 0;  // effective, of this process
  uint32_t gid = 0;
  std::string home;         // of the caller; empty if none
  uint64_t user_tasks = 0;  // threads of this user now; counted only where it matters
  bool operator==(const Facts&) const = default;
};

// The facts that every run needs: a handful of cheap calls.
Facts ProbeFacts();

// Threads of this process's user, all over the machine.
uint64_t CountUserTasks();

}  // namespace cordon::host
