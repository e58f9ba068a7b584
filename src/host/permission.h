// Whether the file system's own permissions let this process do something, as
// the kernel tells it: owner, mode, access lists, read-only mounts.
#pragma once

#include <string>

#include "cordon/result.h"

namespace cordon::host {

enum class Permission { kRead, kWrite, kExecute };

// For the effective user. A directory must be searchable as well, whatever is
// asked. `path` exists.
Status CheckPermission(const std::string& path, Permission permission);

}  // namespace cordon::host
