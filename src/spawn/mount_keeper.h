// Runs in: supervisor. Keeps the sandbox's mounts in place while the host goes
// on working: a file that the host replaces (an editor, `git config`) takes the
// mount over it away or leaves it on the old one, and a credential file may only
// come into being during the run. The first is covered again as soon as the
// kernel tells; of the others it says nothing, so directories are looked at.
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
  // `pidfd`, `init`: the sandbox's first process. A keeper that cannot be set up
  // keeps nothing; working() tells.
  MountKeeper(const plan::FsPlan& fs, pid_t init, int pidfd);

  // False: it could not be set up, and keeps nothing.
  bool working() const { return working_; }
  pollfd WantedMounts() const { return {mounts_.get(), POLLPRI, 0}; }
  // False: a protection is gone and could not be put back.
  bool Serve(short mounts);
  // The same for names that have appeared or lead to another file; to be asked
  // now and then. (Not inotify: letting go of it takes the kernel longer than a
  // short run.)
  bool Look();

 private:
  void FindParents();
  bool Restore();
  bool CoverNew();
  bool MountAgain(const plan::Region& region);

  std::vector<plan::Region> regions_;  // the plan's, and masks over names that appeared
  int pidfd_;
  sys::UniqueFd mounts_;  // mountinfo of the sandbox
  std::vector<std::string> absent_;
  std::map<std::string, int64_t> parents_;  // of protected and absent names; when each last changed
  bool working_ = false;
};

}  // namespace cordon::spawn
