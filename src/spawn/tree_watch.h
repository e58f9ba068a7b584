// Runs in: supervisor. How much memory and CPU time all processes of one
// sandbox use together, read from its own /proc; for uid 0, whom the kernel does
// not count, also how many there are. It only looks: the supervisor ends what
// has to end.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sys/fd.h"

namespace cordon::spawn {

class TreeWatch {
 public:
  // `root`: of the sandbox's file system. `init`: its first process; in a pid
  // namespace, where all that is seen is its own, 1.
  TreeWatch(int root, const plan::Plan& plan, pid_t init = 1);

  bool needed() const { return proc_.valid(); }
  struct Excess {
    Reason reason;
    pid_t largest = 0;  // inside; whose end would help most, for memory
    std::string name;   // what that process calls itself: hostile
  };
  // When to look next: sooner where half of the memory is used, for the other
  // half can be gone within a few hundredths of a second.
  std::chrono::milliseconds interval() const { return std::chrono::milliseconds(near_ ? 4 : 20); }
  // The limit that the tree is over now, if it is over one.
  std::optional<Excess> Exceeded();

 private:
  using Clock = std::chrono::steady_clock;
  template <typename Measure>
  uint64_t Sum(Measure measure) const;

  pid_t init_;
  std::vector<pid_t> tree_;  // outside of a pid namespace, as it was last seen
  Clock::time_point began_ = Clock::now();
  sys::UniqueFd proc_;
  std::optional<uint64_t> memory_;
  std::optional<uint64_t> cpu_ms_;
  bool near_ = false;
  std::optional<uint64_t> processes_;  // where the kernel does not count them
};

}  // namespace cordon::spawn
