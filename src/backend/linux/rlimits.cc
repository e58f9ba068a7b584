// Runs in: supervisor. Pure.
#include "backend/linux/rlimits.h"

#include <sys/resource.h>

namespace cordon::backend {

void AddLimits(const LimitPolicy& limits, plan::CgroupLimits held, uint64_t others,
               std::vector<Step>& steps) {
  auto add = [&](uint64_t resource, uint64_t value) {
    steps.push_back({.op = Op::kLimit, .value = resource, .value2 = value});
  };
  add(RLIMIT_CORE, 0);
  // The sum over the tree is watched; this is for a watch that is kept from it.
  if (limits.cpu_ms) add(RLIMIT_CPU, (*limits.cpu_ms + 999) / 1000 + 1);
  // Init is one of them.
  if (limits.processes && !held.processes) add(RLIMIT_NPROC, others + *limits.processes + 1);
  if (limits.open_files) add(RLIMIT_NOFILE, *limits.open_files);
  if (limits.file_size) add(RLIMIT_FSIZE, *limits.file_size);
  // What is used is watched over the whole tree; this stops one process from
  // outrunning the watch. It counts stacks of threads, used or not, and so must
  // leave room. (Address space would be the wrong measure altogether: node and
  // Go reserve far more than they use.)
  constexpr uint64_t kRoom = 4;
  if (limits.memory && !held.memory) add(RLIMIT_DATA, *limits.memory * kRoom);
}

}  // namespace cordon::backend
