// The cgroup of one run, where this host lets us make one: it holds the limits on
// memory and processes in full, which elsewhere are watched.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cordon/policy.h"
#include "host/cgroup.h"
#include "plan/plan.h"
#include "sys/fd.h"

namespace cordon::session {

class RunCgroup {
 public:
  // Nothing where the limits ask for none or where none can be had. It is removed with
  // this object, by a process that keeps the rights that made it and does nothing else:
  // this one may give up root meanwhile, or be killed.
  static std::unique_ptr<RunCgroup> Make(const LimitPolicy& limits);
  // What it would hold, by a look at the host.
  static plan::CgroupLimits Foresee(const LimitPolicy& limits);
  ~RunCgroup();

  plan::CgroupLimits holds() const { return holds_; }
  // A process that writes "0" to each of them is in it.
  std::vector<int> entries() const;
  // How many processes the kernel has ended in it for want of memory.
  uint64_t MemoryKills() const;

 private:
  explicit RunCgroup(int version);
  // Makes the one below `home` that holds the limits of `kinds`.
  bool Add(const std::string& home, const LimitPolicy& limits, plan::CgroupLimits kinds);
  bool StartCleaner(const std::vector<std::string>& homes);

  const std::string name_;
  const int version_;
  plan::CgroupLimits holds_;
  std::vector<sys::UniqueFd> entries_;
  sys::UniqueFd memory_events_;
  sys::UniqueFd lifeline_;  // its end tells the cleaner
  pid_t cleaner_ = -1;
};

}  // namespace cordon::session
