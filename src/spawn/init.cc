// Runs in: pid 1 of the sandbox, or, without a pid namespace, the process that its
// orphans come to. A program of its own, without libc, embedded
// in the library and started from a memfd. It starts the command, reaps
// orphans, passes signals on, reports how the command ended, and ends with the
// command or with the supervisor, whichever goes first; the kernel then kills
// whatever is left in the pid namespace.
//
// It runs under the same Landlock domain and seccomp filter as the command and
// is not dumpable, so the command can neither read nor trace it.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "backend/init_protocol.h"
#include "spawn/stage.h"
#include "spawn/watch.h"
#include "sys/raw.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

using backend::Control;
using backend::kCommandGroup;
using backend::kControlFd;
using backend::kInitOptionControllingTerminal;
using backend::kStatusFd;
using backend::Report;
using backend::ReportKind;
using raw::Arg;
using raw::Syscall;

constexpr int kSignals = 64;
constexpr long kSigsetBytes = 8;

struct Start {
  const char* options;
  const char* program;
  char** argv;
  char** envp;
  int error;  // written by the vforked child when no exec succeeded
};

alignas(16) char child_stack[16384];

bool Contains(const char* text, char wanted) {
  for (; *text != '\0'; ++text) {
    if (*text == wanted) return true;
  }
  return false;
}

const char* PathVariable(char** envp) {
  for (; *envp != nullptr; ++envp) {
    const char* entry = *envp;
    if (entry[0] == 'P' && entry[1] == 'A' && entry[2] == 'T' && entry[3] == 'H' &&
        entry[4] == '=') {
      return entry + 5;
    }
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

// As a shell does: the first entry of PATH that can be executed. EACCES is told
// only if nothing later was found, and not for directories that are out of reach.
int ExecSearch(Start& start) {
  char candidate[4096];
  int error = ENOENT;
  size_t name_length = raw::Length(start.program);
  const char* path = PathVariable(start.envp);
  while (true) {
    size_t length = 0;
    while (path[length] != '\0' && path[length] != ':') ++length;
    // An empty or relative entry would look into the working directory, which
    // the sandboxed side writes: such entries are passed over.
    if (length > 0 && path[0] == '/' && length + 1 + name_length + 1 <= sizeof(candidate)) {
      size_t end = 0;
      for (size_t i = 0; i < length; ++i) candidate[end++] = path[i];
      candidate[end++] = '/';
      for (size_t i = 0; i <= name_length; ++i) candidate[end++] = start.program[i];
      long result = Syscall(__NR_execve, Arg(candidate), Arg(start.argv), Arg(start.envp));
      if (result == -EACCES && Syscall(__NR_faccessat, AT_FDCWD, Arg(candidate), F_OK) != 0) {
        result = -ENOENT;
      }
      if (result != -ENOENT && result != -ENOTDIR) error = static_cast<int>(-result);
      if (result != -ENOENT && result != -ENOTDIR && result != -EACCES) return error;
    }
    if (path[length] == '\0') return error;
    path += length + 1;
  }
}

// A Landlock domain inside init's: what runs in it cannot signal init.
long EnterDomain() {
  uapi::LandlockRulesetAttr attributes{0, 0, uapi::kScopeAbstractUnixSocket | uapi::kScopeSignal};
  long ruleset = Syscall(__NR_landlock_create_ruleset, Arg(&attributes), sizeof(attributes), 0);
  if (ruleset < 0) return ruleset;
  long result = Syscall(__NR_landlock_restrict_self, ruleset, 0);
  Syscall(__NR_close, ruleset);
  return result;
}

int RunCommand(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  if (Contains(start.options, backend::kInitOptionScoped)) {
    if (long result = EnterDomain(); result < 0) {
      start.error = static_cast<int>(-result);
      return 127;
    }
  }
#ifdef CORDON_TEST_HOOKS
  if (!Contains(start.options, backend::kInitOptionSameSession))
#endif
    Syscall(__NR_setsid);
  if (Contains(start.options, kInitOptionControllingTerminal)) {
    Syscall(__NR_ioctl, 0, TIOCSCTTY, 0);
  }
  // What the caller ignored is not the command's: it starts afresh.
  struct {
    long handler, flags, restorer;
    uint64_t mask;
  } standard{};
  for (long number = 1; number <= kSignals; ++number) {
    Syscall(__NR_rt_sigaction, number, Arg(&standard), 0, kSigsetBytes);
  }
  uint64_t none = 0;
  Syscall(__NR_rt_sigprocmask, SIG_SETMASK, Arg(&none), 0, kSigsetBytes);
  if (Contains(start.program, '/')) {
    start.error = static_cast<int>(
        -Syscall(__NR_execve, Arg(start.program), Arg(start.argv), Arg(start.envp)));
  } else {
    start.error = ExecSearch(start);
  }
  return 127;
}

void Send(ReportKind kind, int value, const rusage* usage) {
  Report report{};
  report.kind = kind;
  report.value = value;
  if (usage != nullptr) {
    report.user_us = static_cast<uint64_t>(usage->ru_utime.tv_sec) * 1000000 +
                     static_cast<uint64_t>(usage->ru_utime.tv_usec);
    report.system_us = static_cast<uint64_t>(usage->ru_stime.tv_sec) * 1000000 +
                       static_cast<uint64_t>(usage->ru_stime.tv_usec);
    report.max_rss_kb = static_cast<uint64_t>(usage->ru_maxrss);
  }
  Syscall(__NR_write, kStatusFd, Arg(&report), sizeof(report));
}

// Reaps what has ended; true when the command itself was among it.
bool Reap(long command) {
  while (true) {
    int status = 0;
    long pid = Syscall(__NR_wait4, -1, Arg(&status), WNOHANG, 0);
    if (pid <= 0) return false;
    if (pid != command) continue;
    rusage usage{};
    Syscall(__NR_getrusage, RUSAGE_CHILDREN, Arg(&usage));
    Send(ReportKind::kEnded, status, &usage);
    return true;
  }
}

// False when the supervisor gave up, or is gone.
bool WaitForStart() {
  Control control;
  return Syscall(__NR_read, kControlFd, Arg(&control), sizeof(control)) == sizeof(control);
}

// How all of the sandbox is reached: as what is in the pid namespace, as what is
// in the Landlock scope, or as the descendants.
enum class Ending { kNamespace, kScope, kTree };
void SignalEveryone(Ending ending, long signal);

// False when the supervisor is gone.
bool PassSignal(long command, Ending ending) {
  Control control;
  long count = Syscall(__NR_read, kControlFd, Arg(&control), sizeof(control));
  if (count <= 0) return count == -EINTR || count == -EAGAIN;
  if (control.target == backend::kEveryone) {
    SignalEveryone(ending, control.signal);
    return true;
  }
  long target = control.target == kCommandGroup ? -command : control.target;
  Syscall(__NR_kill, target, control.signal);
  return true;
}

// Whether what init may signal is the sandbox alone: its supervisor is of the same
// user, and only a Landlock scope keeps init from signalling it.
bool IsScoped(const char* options) {
  return Contains(options, backend::kInitOptionScoped) &&
         Syscall(__NR_kill, Syscall(__NR_getppid), 0) == -EPERM;
}

// Without a scope, "everyone" would be all processes of the user: the broker knows
// the sandbox's (it cannot read init's memory, so a path would not do); where there is
// no broker, /proc tells.
void SignalEveryone(Ending ending, long signal) {
  if (ending == Ending::kTree) {
    if (Syscall(__NR_kill, kAskForEveryone, signal) == 0) return;
    SignalDescendants(Syscall(__NR_getpid), signal);
  } else {
    Syscall(__NR_kill, -1, signal);
  }
}

// Outside of a pid namespace nobody ends with init: it ends them, orphans too,
// which have become its own children.
void EndEveryone(Ending ending) {
  if (ending == Ending::kNamespace) return;
  while (true) {
    SignalEveryone(ending, SIGKILL);
    long pid;
    do {
      int status;
      pid = Syscall(__NR_wait4, -1, Arg(&status), WNOHANG, 0);
    } while (pid > 0);
    if (pid == -ECHILD) return;
    timespec pause{0, 1'000'000};
    Syscall(__NR_nanosleep, Arg(&pause), 0);
  }
}

void Scrub(char** argv, char** envp) {
  // argv and environment are one block of strings at the top of the stack.
  char* begin = argv[0];
  char* end = begin;
  for (char** list : {argv, envp}) {
    for (; *list != nullptr; ++list) {
      char* last = *list + raw::Length(*list);
      if (last > end) end = last;
    }
  }
  for (volatile char* byte = begin; byte < end; ++byte) *byte = '\0';
}

}  // namespace

[[noreturn]] void Main(long* stack) {
  long argc = stack[0];
  char** argv = reinterpret_cast<char**>(stack + 1);
  char** envp = argv + argc + 1;
#ifdef CORDON_TEST_HOOKS
  bool unprotected = argc > 1 && Contains(argv[1], backend::kInitOptionUnprotected);
#else
  constexpr bool unprotected = false;
#endif
  if (!unprotected) Syscall(__NR_prctl, PR_SET_DUMPABLE, 0);
  if (argc == 3 && Contains(argv[1], kOptionWatch)) Watch(argv[2]);
  if (argc == 2 && Contains(argv[1], kOptionStage)) RunStage();
  if (argc < 4) raw::ExitGroup(125);
  Ending ending = Ending::kNamespace;
  if (Contains(argv[1], backend::kInitOptionSubreaper)) {
    Syscall(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ending = IsScoped(argv[1]) ? Ending::kScope : Ending::kTree;
  }

  uint64_t all = ~0ull;
  Syscall(__NR_rt_sigprocmask, SIG_SETMASK, Arg(&all), 0, kSigsetBytes);
  long signals = Syscall(__NR_signalfd4, -1, Arg(&all), kSigsetBytes, O_CLOEXEC | O_NONBLOCK);
  Syscall(__NR_fcntl, kControlFd, F_SETFD, FD_CLOEXEC);
  Syscall(__NR_fcntl, kStatusFd, F_SETFD, FD_CLOEXEC);

  if (!WaitForStart()) raw::ExitGroup(125);
  Start start{argv[1], argv[2], argv + 3, envp, 0};
  // Not clone3: the filter answers ENOSYS to it, as it cannot see its flags.
  long command = raw::CloneVfork(child_stack + sizeof(child_stack), RunCommand, &start);
  if (signals < 0 || command < 0) {
    Send(ReportKind::kExecFailed, static_cast<int>(-(signals < 0 ? signals : command)), nullptr);
    raw::ExitGroup(125);
  }
  if (start.error != 0) {
    Send(ReportKind::kExecFailed, start.error, nullptr);
    raw::ExitGroup(125);
  }
  Send(ReportKind::kStarted, 0, nullptr);
  for (long fd = 0; fd < 3; ++fd) Syscall(__NR_close, fd);
  if (!unprotected) Scrub(argv, envp);

  while (true) {
    pollfd watched[2] = {{kControlFd, POLLIN, 0}, {static_cast<int>(signals), POLLIN, 0}};
    long polled = Syscall(__NR_ppoll, Arg(watched), 2, 0, 0, kSigsetBytes);
    if (polled < 0 && polled != -EINTR) raw::ExitGroup(125);
    if (watched[1].revents != 0) {
      char discarded[128 * 4];
      while (Syscall(__NR_read, signals, Arg(discarded), sizeof(discarded)) > 0) {
      }
      if (Reap(command)) {
        EndEveryone(ending);
        raw::ExitGroup(0);
      }
    }
    if (watched[0].revents != 0 && !PassSignal(command, ending)) {
      EndEveryone(ending);
      raw::ExitGroup(125);
    }
  }
}

}  // namespace cordon::spawn

// The stack pointer at entry points at argc; a call would push over it.
#if defined(__x86_64__)
__asm__(
    ".globl _start\n"
    "_start:\n\t"
    "xor %ebp, %ebp\n\t"
    "mov %rsp, %rdi\n\t"
    "and $-16, %rsp\n\t"
    "call cordon_init_main\n\t"
    "hlt\n");
#else
__asm__(
    ".globl _start\n"
    "_start:\n\t"
    "mov x29, xzr\n\t"
    "mov x30, xzr\n\t"
    "mov x0, sp\n\t"
    "bl cordon_init_main\n\t"
    "brk #1\n");
#endif

extern "C" [[noreturn, gnu::used]] void cordon_init_main(long* stack) {
  cordon::spawn::Main(stack);
}

// What the compiler may call even in freestanding code.
extern "C" void* memset(void* target, int value, size_t size) {
  volatile char* byte = static_cast<volatile char*>(target);
  for (size_t i = 0; i < size; ++i) byte[i] = static_cast<char>(value);
  return target;
}

extern "C" void* memcpy(void* target, const void* source, size_t size) {
  volatile char* to = static_cast<volatile char*>(target);
  const char* from = static_cast<const char*>(source);
  for (size_t i = 0; i < size; ++i) to[i] = from[i];
  return target;
}
