// Root does not supervise agents. A process that was started as root gives that
// up for good before it plans a run: it becomes an ordinary user in a mount
// namespace of its own, in which the directories that the run may use are
// id-mapped, so that they are that user's there and root's (or whose they are)
// on disk.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cordon/result.h"

namespace cordon::session {

struct Unprivileged {
  uid_t uid = 65534;
  gid_t gid = 65534;
};

// Irrevocable, and for the whole process: only for a process that does nothing
// but supervise. `directories`: canonical paths, existing. A file system that
// cannot be id-mapped is an error with reason kUnsupported and nothing changed
// but the mount namespace.
Status BecomeUnprivileged(const Unprivileged& target, std::vector<std::string> directories);

// Without another view of the file system: just another user.
Status ChangeUser(const Unprivileged& target);

// The lesser way, where a file system cannot be id-mapped: still uid 0, but
// without groups and capabilities (CAP_SETFCAP stays until the launch: without
// it the kernel lets nobody map uid 0 into a new user namespace).
enum class Keep { kMapping, kNothing };
Status GiveUpPowers(Keep keep);

}  // namespace cordon::session
