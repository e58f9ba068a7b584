#include "cordon/outcome.h"

#include <errno.h>

namespace cordon {

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::kNone:
      return "none";
    case Level::kPartial:
      return "partial";
    case Level::kFull:
      return "full";
  }
  return "none";
}

std::string_view OutcomeKindName(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kExited:
      return "exited";
    case OutcomeKind::kSignaled:
      return "signaled";
    case OutcomeKind::kTimedOut:
      return "timed_out";
    case OutcomeKind::kLimit:
      return "limit";
    case OutcomeKind::kCancelled:
      return "cancelled";
    case OutcomeKind::kExecFailed:
      return "exec_failed";
  }
  return "exec_failed";
}

int Outcome::ExitStatus() const {
  constexpr int kTimedOutStatus = 124, kNotExecutable = 126, kNotFound = 127, kSignalBase = 128;
  constexpr int kKill = 9;
  switch (kind) {
    case OutcomeKind::kExited:
      return exit_code;
    case OutcomeKind::kSignaled:
    case OutcomeKind::kCancelled:
      return kSignalBase + signal;
    case OutcomeKind::kTimedOut:
      return kTimedOutStatus;
    case OutcomeKind::kLimit:
      return kSignalBase + kKill;
    case OutcomeKind::kExecFailed:
      return reason == Reason::kExecNotFound ? kNotFound : kNotExecutable;
  }
  return kNotExecutable;
}

}  // namespace cordon
