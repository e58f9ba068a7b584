// Runs in: supervisor, and a child of it that shares its memory: raw system calls
// only in what starts with Child.
#include "spawn/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "spawn/launch.h"
#include "spawn/watch.h"
#include "sys/raw.h"
#include "sys/signals.h"

namespace cordon::spawn {
namespace {

using raw::Arg;
using raw::Syscall;

struct Start {
  int null, control, ready, program;
  const char* const* argv;
  const char* const* environment;
};

int ChildExec(void* argument) noexcept {
  const Start& start = *static_cast<Start*>(argument);
  constexpr int kFirstFree = 6, kProgram = 5;
  const int from[kFirstFree] = {start.null,    start.null,  start.null,
                                start.control, start.ready, start.program};
  long parked[kFirstFree];
  for (int i = 0; i < kFirstFree; ++i) {
    parked[i] = Syscall(__NR_fcntl, from[i], F_DUPFD_CLOEXEC, 2 * kFirstFree);
    if (parked[i] < 0) return 125;
  }
  for (int i = 0; i < kFirstFree; ++i) {
    if (Syscall(__NR_dup3, parked[i], i, i == kProgram ? O_CLOEXEC : 0) < 0) return 125;
  }
  Syscall(__NR_close_range, kFirstFree, ~0u, 0);
  Syscall(__NR_execveat, kProgram, Arg(""), Arg(start.argv), Arg(start.environment), AT_EMPTY_PATH);
  return 125;
}

long Spawn(Start& start) {
  constexpr size_t kStackSize = 64 * 1024;
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return -ENOMEM;
  raw::CloneArgs clone{};
  clone.flags = CLONE_VM | CLONE_VFORK;
  clone.exit_signal = SIGCHLD;
  clone.stack = reinterpret_cast<uint64_t>(stack);
  clone.stack_size = kStackSize;
  long pid;
  {
    sys::SignalsBlocked blocked;
    pid = raw::CloneAnyway(clone, ChildExec, &start);
  }
  munmap(stack, kStackSize);
  return pid;
}

Result<std::string> NewName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != ssize_t{sizeof(number)}) {
    return base::SystemError("getrandom", errno, Reason::kSetupFailed);
  }
  const char* parent = access("/tmp", W_OK | X_OK) == 0 ? "/tmp" : "/var/tmp";
  char name[64];
  snprintf(name, sizeof(name), "%s/cordon-%016lx", parent, number);
  return std::string(name);
}

}  // namespace

Result<Watcher> Watcher::Start() {
  Watcher watcher;
  CORDON_ASSIGN_OR_RETURN(watcher.directory_, NewName());
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd program, InitProgram());
  int control[2], ready[2];
  if (pipe2(control, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno);
  sys::UniqueFd read_end(control[0]);
  watcher.control_.reset(control[1]);
  if (pipe2(ready, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno);
  sys::UniqueFd told(ready[0]), teller(ready[1]);
  sys::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const char option[] = {'-', kOptionWatch, '\0'};
  const char* const argv[] = {"cordon-watch", option, watcher.directory_.c_str(), nullptr};
  const char* const environment[] = {nullptr};
  struct Start start{null.get(), read_end.get(), teller.get(), program.get(), argv, environment};
  long pid = Spawn(start);
  if (pid < 0) {
    return base::SystemError("start the watcher", static_cast<int>(-pid), Reason::kSetupFailed);
  }
  watcher.pid_ = static_cast<pid_t>(pid);
  teller.reset();
  int32_t error = ECHILD;
  ssize_t got;
  do {
    got = read(told.get(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  if (got != ssize_t{sizeof(error)} || error != 0) {
    return base::SystemError("make " + watcher.directory_, error, Reason::kSetupFailed);
  }
  return watcher;
}

Watcher::Watcher(Watcher&& other) noexcept
    : directory_(std::move(other.directory_)),
      control_(std::move(other.control_)),
      pid_(std::exchange(other.pid_, -1)) {}

Watcher::~Watcher() {
  control_.reset();
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Watcher::Watch(pid_t init) const {
  int32_t number = init;
  static_cast<void>(!write(control_.get(), &number, sizeof(number)));
}

}  // namespace cordon::spawn
