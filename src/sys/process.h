// Small acts of a process on itself.
#pragma once

#include <map>
#include <string>

#include "cordon/result.h"
#include "sys/fd.h"

namespace cordon::sys {

// The environment of this process.
std::map<std::string, std::string> Environment();

// Blocks the signals that a supervisor passes on and returns a signalfd for
// them. SIGCHLD and the fatal ones are left alone.
Result<UniqueFd> SignalsToPass();

// Opens /dev/null in the place of standard streams that are closed, so that no
// later descriptor can be taken for one.
void ReserveStandardStreams();

// mkdir -p; what is made has mode 0700.
Status MakeDirectories(const std::string& path);

}  // namespace cordon::sys
