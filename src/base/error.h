// Makers of the errors that many layers return.
#pragma once

#include <string>

#include "cordon/result.h"

namespace cordon::base {

// "openat2 /w/src: Permission denied".
Error SystemError(std::string call, int sys_errno, Reason reason = Reason::kSystemCall);
std::string ErrnoText(int sys_errno);

Error InvalidArgument(Reason reason, std::string message, std::string hint = {});
Error Unsupported(std::string message, std::string hint = {});

}  // namespace cordon::base
