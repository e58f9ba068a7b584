// Runs in: supervisor, a thread of its own, and the clone (Await).
#include "spawn/clone.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "sys/raw.h"
#include "sys/signals.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

using raw::Arg;
using raw::Syscall;

constexpr size_t kStackSize = 64 * 1024;

// What the clone is told.
constexpr uint32_t kNothing = 0;
constexpr uint32_t kRun = 1;
constexpr uint32_t kEnd = 2;

constexpr long kNotYet = -1;

}  // namespace

Clone::Clone(uint64_t namespaces)
    : namespaces_(namespaces),
      stack_(std::make_unique_for_overwrite<char[]>(kStackSize)),
      supervisor_(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))) {
  try {
    thread_ = std::thread([this] { Make(); });
  } catch (const std::system_error&) {
    pid_ = kNotYet;  // Run makes it
  }
}

Clone::~Clone() {
  if (!thread_.joinable()) return;
  Tell(kEnd);
  thread_.join();
  sys::UniqueFd pidfd(pidfd_);
  if (pid_ > 0) waitpid(static_cast<pid_t>(pid_), nullptr, 0);
}

// Blocked in the call itself until the clone has become init or has ended.
void Clone::Make() {
  raw::CloneArgs clone{};
  // Descriptors are shared until the clone is told: some are made while it waits.
  clone.flags =
      namespaces_ | CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | uapi::kCloneClearSighand;
  clone.pidfd = reinterpret_cast<uint64_t>(&pidfd_);
  clone.exit_signal = SIGCHLD;
  clone.stack = reinterpret_cast<uint64_t>(stack_.get());
  clone.stack_size = kStackSize;
  // No handler of the host process may run in the clone, which shares its memory.
  sys::SignalsBlocked blocked;
  pid_ = raw::CloneAnyway(clone, Await, this);
}

// In the clone: raw system calls only.
int Clone::Await(void* self) noexcept {
  Clone& clone = *static_cast<Clone*>(self);
  // Ends it with the supervisor until init watches the control pipe. The look at
  // the supervisor is for one that ended just before this.
  Syscall(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
  timespec second{.tv_sec = 1, .tv_nsec = 0};
  while (clone.told_.load(std::memory_order_acquire) == kNothing) {
    pollfd ended{clone.supervisor_.get(), POLLIN, 0};
    timespec now{};
    if (Syscall(__NR_ppoll, Arg(&ended), 1, Arg(&now), 0, 0) != 0) return 0;
    Syscall(__NR_futex, Arg(&clone.told_), FUTEX_WAIT, kNothing, Arg(&second), 0, 0);
  }
  if (clone.told_.load(std::memory_order_acquire) != kRun) return 0;
  return RunChild(*clone.input_);
}

void Clone::Tell(uint32_t word) {
  told_.store(word, std::memory_order_release);
  // Not FUTEX_PRIVATE: it is another process that waits.
  syscall(SYS_futex, &told_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

Result<Clone::Made> Clone::Run(const ChildInput& input) {
  input_ = &input;
  Tell(kRun);
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Make();
  }
  // A plain clone, where clone3 is denied, gives no pidfd.
  if (pid_ > 0 && pidfd_ < 0) pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  Made made{.pid = static_cast<pid_t>(pid_), .pidfd = sys::UniqueFd(pidfd_)};
  if (pid_ > 0) return made;
  if (namespaces_ == 0) {
    return base::SystemError("clone", static_cast<int>(-pid_), Reason::kSetupFailed);
  }
  Error failed = base::SystemError("clone3 with new namespaces", static_cast<int>(-pid_),
                                   Reason::kUserNamespaces);
  failed.hint = "`cordon doctor` tells what this host forbids and how to allow it";
  return failed;
}

}  // namespace cordon::spawn
