// Runs in: supervisor, and a child of it that shares its memory: raw system
// calls only in what starts with Child.
#include "spawn/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "spawn/child.h"
#include "spawn/flat.h"
#include "sys/raw.h"
#include "sys/signals.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

using raw::Arg;
using raw::Syscall;

// A namespace of the sandbox's, and the user namespace that owns it: bubblewrap leaves
// the command in another one, further inside.
struct Doors {
  sys::UniqueFd other;
  sys::UniqueFd user;
};

Doors Open(int pidfd, const char* name) {
  Doors doors;
  char path[64], text[512] = {};
  snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
  sys::UniqueFd info(open(path, O_RDONLY | O_CLOEXEC));
  if (!info.valid() || read(info.get(), text, sizeof(text) - 1) <= 0) return doors;
  const char* line = strstr(text, "Pid:");
  snprintf(path, sizeof(path), "/proc/%d/ns/%s", line == nullptr ? 0 : atoi(line + 4), name);
  sys::UniqueFd other(open(path, O_RDONLY | O_CLOEXEC));
  if (!other.valid()) return doors;
  doors.user.reset(ioctl(other.get(), NS_GET_USERNS));
  // The number was its as long as it has not ended.
  pollfd ended{pidfd, POLLIN, 0};
  bool alive = poll(&ended, 1, 0) == 0;
  if (!alive) errno = ESRCH;
  if (doors.user.valid() && alive) doors.other = std::move(other);
  return doors;
}

struct Task {
  const Doors* doors;
  const std::vector<backend::FlatStep>* steps;
  int directory;
  mode_t umask;
  int socket;
  const std::string* address;
  long result;  // written by the child
};

long ChildEnter(const Task& task) noexcept {
  long result = Syscall(__NR_setns, task.doors->user.get(), CLONE_NEWUSER);
  return result < 0 ? result : Syscall(__NR_setns, task.doors->other.get(), 0);
}

int ChildMount(void* argument) noexcept {
  Task& task = *static_cast<Task*>(argument);
  task.result = ChildEnter(task);
  if (task.result == 0) task.result = RunSteps(task.steps->data(), task.steps->size());
  return 0;
}

int ChildBind(void* argument) noexcept {
  Task& task = *static_cast<Task*>(argument);
  if (task.doors != nullptr) task.result = ChildEnter(task);
  if (task.doors != nullptr && task.result < 0) return 0;
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
  task.result = ChildEnter(task);
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
  std::vector<backend::FlatStep> flat = Flatten(steps);
  Doors doors = Open(pidfd, "mnt");
  if (!doors.other.valid()) return errno;
  Task task{.doors = &doors, .steps = &flat, .result = -EIO};
  return Run(ChildMount, task);
}

sys::UniqueFd SocketInside(int pidfd, int domain) {
  Doors doors = Open(pidfd, "net");
  if (!doors.other.valid()) return {};
  Task task{.doors = &doors, .socket = domain, .result = -EIO};
  Run(ChildSocket, task, CLONE_FILES);
  if (task.result < 0) errno = static_cast<int>(-task.result);
  return sys::UniqueFd(static_cast<int>(std::max(task.result, -1L)));
}

int BindInside(int pidfd, int directory, mode_t umask, int socket, const std::string& address) {
  Doors doors;
  if (pidfd >= 0) doors = Open(pidfd, "mnt");
  if (pidfd >= 0 && !doors.other.valid()) return errno;
  Task task{.doors = pidfd >= 0 ? &doors : nullptr,
            .directory = directory,
            .umask = umask,
            .socket = socket,
            .address = &address,
            .result = -EIO};
  return Run(ChildBind, task);
}

}  // namespace cordon::spawn
