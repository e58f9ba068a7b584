// Runs in: supervisor. Keeps the sandbox's mounts in place while the host goes
// on working: a file that the host replaces (an editor, `git config`) takes the
// mount over it away, and a credential file may only come into being during the
// run. Both are covered again as soon as the kernel tells.
#pragma once

#include <poll.h>
#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sys/fd.h"

namespace cordon::spawn {

class MountKeeper {
 public:
  // `pidfd`, `init`: the sandbox's first process. `private_tree`: the root of its
  // own tmpfs. A keeper that cannot be set up keeps nothing; working() tells.
  MountKeeper(const plan::FsPlan& fs, pid_t init, int pidfd, sys::UniqueFd private_tree);

  // False: it could not be set up, and keeps nothing.
  bool working() const { return working_; }
  pollfd WantedMounts() const { return {mounts_.get(), POLLPRI, 0}; }
  // False: a protection is gone and could not be put back.
  bool Serve(short mounts);
  // The same for names that have appeared, to be asked now and then as long as
  // it wants to. (Not inotify: letting go of it takes the kernel longer than a
  // short run.)
  bool wants_look() const { return !looked_ || !absent_.empty(); }
  bool Look();

 private:
  bool Restore();
  bool CoverNew();
  bool MountAgain(const plan::Region& region);

  const plan::FsPlan& fs_;
  int pidfd_;
  sys::UniqueFd private_tree_;
  sys::UniqueFd mounts_;  // mountinfo of the sandbox
  std::vector<std::string> absent_;
  std::map<std::string, int64_t> parents_;  // when each last changed
  bool looked_ = false;
  bool working_ = false;
};

}  // namespace cordon::spawn
