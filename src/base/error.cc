#include "base/error.h"

#include <cstring>

namespace cordon {

std::string_view ReasonId(Reason reason) {
  switch (reason) {
#define CORDON_REASON_CASE(name, id) \
  case Reason::name:                 \
    return id;
    CORDON_REASONS(CORDON_REASON_CASE)
#undef CORDON_REASON_CASE
  }
  return "internal";
}

namespace base {

Error SystemError(std::string call, int sys_errno, Reason reason) {
  return Error{.code = Code::kSystem,
               .reason = reason,
               .message = std::move(call) + ": " + ErrnoText(sys_errno),
               .sys_errno = sys_errno,
               .hint = {}};
}

std::string ErrnoText(int sys_errno) {
  const char* text = strerrordesc_np(sys_errno);
  return text != nullptr ? text : "error " + std::to_string(sys_errno);
}

Error InvalidArgument(Reason reason, std::string message, std::string hint) {
  return Error{.code = Code::kInvalidArgument,
               .reason = reason,
               .message = std::move(message),
               .sys_errno = 0,
               .hint = std::move(hint)};
}

Error Unsupported(std::string message, std::string hint) {
  return Error{.code = Code::kUnsupported,
               .reason = Reason::kUnsupported,
               .message = std::move(message),
               .sys_errno = 0,
               .hint = std::move(hint)};
}

}  // namespace base
}  // namespace cordon
