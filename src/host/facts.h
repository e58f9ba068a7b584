// What this machine can do, probed by asking the kernel, never by a version.
// A value: tests write their own.
#pragma once

#include <stdint.h>

#include <string>
#include <vector>

namespace cordon::host {

struct Facts {
  int landlock_abi = 0;  // 0: none
  bool idmapped_mounts = false;
  uint32_t uid = 0;  // effective, of this process
  uint32_t gid = 0;
  std::string home;  // of the caller; empty if none
  bool operator==(const Facts&) const = default;
};

// The facts that every run needs: a handful of cheap calls.
Facts ProbeFacts();

// One line of `cordon doctor`.
struct Finding {
  std::string feature;
  bool available = false;
  std::string detail;
  std::string remedy;
  bool operator==(const Finding&) const = default;
};

// Everything, by trying it in a child process.
std::vector<Finding> Examine();

// Why an unprivileged user namespace could not be made here, and what helps.
Finding ExamineUserNamespaces();

}  // namespace cordon::host
