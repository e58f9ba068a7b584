// Runs in: supervisor, and a short-lived child of it inside the sandbox's user
// and mount namespaces. For the few things that only a process in there can do:
// mounting, and binding a socket under the name that its owner gave it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "backend/child_spec.h"
#include "spawn/caller.h"
#include "sys/fd.h"

namespace cordon::spawn {

// Runs `steps` in the namespaces of the process behind `pidfd`, with its powers
// to mount. 0 or an errno.
int MountInside(int pidfd, const std::vector<backend::Step>& steps);

// A stream socket of the network namespace of the process behind `pidfd`,
// non-blocking; invalid with errno if it cannot be made.
sys::UniqueFd SocketInside(int pidfd, int domain);

// bind(socket, address) in the namespaces of the process behind `pidfd` (-1: our own), from
// `directory`, without any capability. 0 or an errno.
int BindInside(int pidfd, int directory, mode_t umask, int socket, const std::string& address);

}  // namespace cordon::spawn
