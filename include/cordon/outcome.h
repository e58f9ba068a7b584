// How a run ended and what was really enforced. A run that ended badly, or
// that was denied something, is an Outcome, not an Error.
#pragma once

#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon {

enum class Level { kNone, kPartial, kFull };
std::string_view LevelName(Level level);

// One feature of the list that `require`, the record and `doctor` share.
struct Enforcement {
  std::string feature;    // "fs.write"
  std::string mechanism;  // "mount namespace, landlock"
  Level level = Level::kNone;
  std::string note;  // why not full
  bool operator==(const Enforcement&) const = default;
};

enum class OutcomeKind { kExited, kSignaled, kTimedOut, kLimit, kCancelled, kExecFailed };
std::string_view OutcomeKindName(OutcomeKind kind);

// Something the sandbox asked for and did not get.
struct Violation {
  Reason reason = Reason::kInternal;
  std::string operation;  // "create", "connect"
  std::string subject;    // the path
  std::string rule;       // "floor built in"
  std::string hint;       // what would allow it, if anything would
  uint64_t count = 1;
  bool operator==(const Violation&) const = default;
};

struct Usage {
  uint64_t wall_ms = 0;
  uint64_t cpu_ms = 0;
  uint64_t max_rss_kb = 0;
  bool operator==(const Usage&) const = default;
};

struct [[nodiscard]] Outcome {
  std::string backend;  // "namespaces", "landlock" or "none"
  OutcomeKind kind = OutcomeKind::kExecFailed;
  Reason reason = Reason::kInternal;
  int exit_code = 0;  // of the command, when kExited
  int signal = 0;     // when kSignaled
  std::string message;
  std::string out;  // captured streams, when capture was asked for
  std::string err;
  bool out_truncated = false;
  bool err_truncated = false;
  Usage usage;
  std::vector<Enforcement> enforcement;
  std::vector<Violation> violations;
  std::vector<std::string> new_repositories;  // git directories that the run made
  std::vector<std::string> dropped_environment;
  std::string audit_problem;  // why audit.log lacks events of this run; empty: it lacks none
  bool operator==(const Outcome&) const = default;

  // What a shell would say: the command's own status, 124 timed out, 126 and
  // 127 not executable and not found, 128+n by a signal.
  int ExitStatus() const;
};

}  // namespace cordon
