// Runs in: supervisor and init. What the two say to each other. Plain structs
// and numbers: init has no libc.
#pragma once

#include <stdint.h>

namespace cordon::backend {

// The descriptors that init is started with, besides 0, 1 and 2.
inline constexpr int kControlFd = 3;  // read end; closed by the supervisor's death
inline constexpr int kStatusFd = 4;   // write end; one Report, or several

// argv of init: "cordon-init", options, program, argv of the command...
// Its environment is the command's.
inline constexpr char kInitOptionControllingTerminal = 't';
// Not the first process of a pid namespace: it adopts orphans, and ends them all.
inline constexpr char kInitOptionSubreaper = 'r';
// The command gets a Landlock domain of its own inside init's, so that it cannot
// signal init, and all that init may signal is the command's.
inline constexpr char kInitOptionScoped = 'l';
#ifdef CORDON_TEST_HOOKS
inline constexpr char kInitOptionUnprotected = 'u';  // dumpable, nothing scrubbed
inline constexpr char kInitOptionSameSession = 's';  // the command stays in the caller's
#endif

// What the supervisor writes to the control pipe: a signal, and whom it is for.
// The first one, with signal 0, lets the command start: all that watches over it
// stands by then.
struct Control {
  int32_t target;  // a pid inside, or one of these
  int32_t signal;
};
inline constexpr int32_t kCommandGroup = 0;
inline constexpr int32_t kEveryone = -1;

enum class ReportKind : uint32_t {
  kSetupFailed = 1,  // value: errno, detail: step index (written by child.cc)
  kExecFailed = 2,   // value: errno
  kStarted = 3,      // the command's image is running
  kEnded = 4,        // value: wait status
};

struct Report {
  ReportKind kind;
  int32_t value;
  uint64_t detail;
  uint64_t user_us;  // CPU time of the command and all reaped descendants
  uint64_t system_us;
  uint64_t max_rss_kb;
};

}  // namespace cordon::backend
