// Runs in: supervisor, and a child of it that shares its memory: raw system
// calls only in what starts with Child.
#include "spawn/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>

#include "spawn/child.h"
#include "sys/raw.h"
#include "sys/signals.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

using raw::Arg;
using raw::Syscall;

struct Task {
  int pidfd;
  const std::vector<backend::Step>* steps;
  int directory;
  mode_t umask;
  int socket;
  const std::string* address;
  long result;  // written by the child
};

long ChildEnter(const Task& task) noexcept {
  return Syscall(__NR_setns, task.pidfd, CLONE_NEWUSER | CLONE_NEWNS);
}

int ChildMount(void* argument) noexcept {
  Task& task = *static_cast<Task*>(argument);
  task.result = ChildEnter(task);
  if (task.result == 0) task.result = RunSteps(*task.steps);
  return 0;
}

int ChildBind(void* argument) noexcept {
  Task& task = *static_cast<Task*>(argument);
  if (task.pidfd >= 0) task.result = ChildEnter(task);
  if (task.pidfd >= 0 && task.result < 0) return 0;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  task.result = Syscall(__NR_capset, Arg(&header), Arg(none));
  if (task.result == 0) task.result = Syscall(__NR_fchdir, task.directory);
  if (task.result < 0) return 0;
  Syscall(__NR_umask, static_cast<long>(task.umask));
  task.result = Syscall(__NR_bind, task.socket, Arg(task.address->data()),
                        static_cast<long>(task.address->size()));
  return 0;
}

// The table of descriptors is the supervisor's own, so the socket is too.
int ChildSocket(void* argument) noexcept {
  Task& task = *static_cast<Task*>(argument);
  task.result = Syscall(__NR_setns, task.pidfd, CLONE_NEWUSER | CLONE_NEWNET);
  if (task.result < 0) return 0;
  task.result = Syscall(__NR_socket, task.socket, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return 0;
}

int Run(int (*entry)(void*), Task& task, uint64_t shared = 0) {
  constexpr size_t kStackSize = 64 * 1024;
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return ENOMEM;
  raw::CloneArgs clone{};
  clone.flags = CLONE_VM | CLONE_VFORK | shared;
  clone.exit_signal = SIGCHLD;
  clone.stack = reinterpret_cast<uint64_t>(stack);
  clone.stack_size = kStackSize;
  long pid;
  {
    sys::SignalsBlocked blocked;
    pid = raw::CloneAnyway(clone, entry, &task);
  }
  int error = pid < 0 ? static_cast<int>(-pid) : static_cast<int>(-task.result);
  while (pid > 0 && waitpid(static_cast<pid_t>(pid), nullptr, 0) < 0 && errno == EINTR) {
  }
  munmap(stack, kStackSize);
  return error;
}

}  // namespace

int MountInside(int pidfd, const std::vector<backend::Step>& steps) {
  Task task{.pidfd = pidfd, .steps = &steps, .result = -EIO};
  return Run(ChildMount, task);
}

sys::UniqueFd SocketInside(int pidfd, int domain) {
  Task task{.pidfd = pidfd, .socket = domain, .result = -EIO};
  Run(ChildSocket, task, CLONE_FILES);
  if (task.result < 0) errno = static_cast<int>(-task.result);
  return sys::UniqueFd(static_cast<int>(std::max(task.result, -1L)));
}

int BindInside(int pidfd, int directory, mode_t umask, int socket, const std::string& address) {
  Task task{.pidfd = pidfd,
            .directory = directory,
            .umask = umask,
            .socket = socket,
            .address = &address,
            .result = -EIO};
  return Run(ChildBind, task);
}

}  // namespace cordon::spawn
