// Runs in: supervisor. How much memory and CPU time all processes of one
// sandbox use together, read from its own /proc.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <optional>

#include "cordon/policy.h"
#include "sys/fd.h"

namespace cordon::spawn {

class TreeWatch {
 public:
  // `root`: of the sandbox's file system.
  TreeWatch(int root, const LimitPolicy& limits);

  bool needed() const { return proc_.valid(); }
  // The limit that the tree is over now, if it is over one.
  std::optional<Reason> Exceeded();

 private:
  sys::UniqueFd proc_;
  std::optional<uint64_t> memory_;
  std::optional<uint64_t> cpu_ms_;
};

}  // namespace cordon::spawn
