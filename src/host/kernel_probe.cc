#include "host/kernel_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "host/facts.h"
#include "host/trial.h"
#include "sys/raw.h"
#include "sys/uapi.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS  // Linux 6.6
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, __u64)
#endif

namespace cordon::host {
namespace {

constexpr const char* kNewerKernel = "use Linux 5.19 or newer.";

// What each ABI added, from 1 up.
constexpr std::array kLandlockAdds = {
    "file access by hierarchy",
    "moving and linking between directories",
    "truncation",
    "TCP bind and connect by port",
    "ioctl on devices",
    "scopes for signals and abstract unix sockets",
    "control of its audit log",
    "restricting all threads at once",
    "pathname unix sockets",
};

// ---- in the child ---------------------------------------------------------

enum ListenerStep { kInstall, kSetFlags, kListening };

// A filter that allows everything, with a listener: as the broker's.
TrialResult TryListener(const void*) {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  sock_fprog program{1, &allow};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {kInstall, errno};
  seccomp_notif_sizes sizes{};
  if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return {kInstall, errno};
  long listener =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, uapi::kSeccompFilterFlagNewListener, &program);
  if (listener < 0) return {kInstall, errno};
  uint64_t flags = uapi::kSeccompUserNotifFdSyncWakeUp;
  if (ioctl(static_cast<int>(listener), SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags) != 0) {
    return {kSetFlags, errno};
  }
  return {kListening, 0};
}

// Takes a descriptor of a child's, as the broker does of a caller's.
TrialResult TryPidfdGetfd(const void*) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {0, errno};
  pid_t pid = fork();
  if (pid < 0) return {0, errno};
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) pause();
  }
  int error = 0;
  long pidfd = syscall(SYS_pidfd_open, pid, 0);
  if (pidfd < 0 || syscall(SYS_pidfd_getfd, pidfd, ends[0], 0) < 0) error = errno;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return {0, error};
}

int WriteMap(pid_t pid, const char* name) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  constexpr char kMap[] = "0 65534 1";
  if (fd < 0 || write(fd, kMap, sizeof(kMap) - 1) < 0) return errno;
  close(fd);
  return 0;
}

int MapTree(int tree, pid_t pid) {
  for (const char* name : {"uid_map", "gid_map"}) {
    if (int error = WriteMap(pid, name); error != 0) return error;
  }
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
  int space = open(path, O_RDONLY | O_CLOEXEC);
  if (space < 0) return errno;
  uapi::MountAttr attributes{};
  attributes.attr_set = uapi::kMountAttrIdmap;
  attributes.userns_fd = static_cast<uint64_t>(space);
  long set = syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes));
  return set == 0 ? 0 : errno;
}

// An id-mapped clone of the current directory's mount, attached nowhere.
TrialResult TryIdmap(const void*) {
  long tree = syscall(SYS_open_tree, AT_FDCWD, ".", uapi::kOpenTreeClone | uapi::kOpenTreeCloexec);
  if (tree < 0) return {0, errno};
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return {0, errno};
  pid_t pid = fork();
  if (pid < 0) return {0, errno};
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int error = unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
    if (write(ready[1], &error, sizeof(error)) < 0) _exit(1);
    while (true) pause();
  }
  int error = EIO;
  if (read(ready[0], &error, sizeof(error)) < 0) error = errno;
  if (error == 0) error = MapTree(static_cast<int>(tree), pid);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return {0, error};
}

Finding WithoutListener(const TrialResult& tried) {
  Finding finding{.feature = "seccomp notification"};
  if (tried.error == EBUSY) {
    finding.detail = "a filter around this process has a listener already (another sandbox)";
    finding.remedy = "run outside of it: the kernel allows one listener per process.";
  } else if (tried.error == ENOSYS || tried.error == EINVAL) {
    finding.detail = "this kernel has no seccomp filters with notification";
    finding.remedy = kNewerKernel;
  } else {
    finding.detail = base::ErrnoText(tried.error) + ": a container's seccomp profile denies it";
    finding.remedy = "start the container with a profile that allows the seccomp system call.";
  }
  return finding;
}

}  // namespace

Finding ExamineSystemCalls() {
  // With arguments that none of them takes.
  constexpr std::array<std::pair<const char*, long>, 9> kCalls = {
      {{"clone3", SYS_clone3},
       {"openat2", SYS_openat2},
       {"close_range", SYS_close_range},
       {"mount_setattr", SYS_mount_setattr},
       {"open_tree", SYS_open_tree},
       {"move_mount", SYS_move_mount},
       {"fsopen", SYS_fsopen},
       {"pidfd_open", SYS_pidfd_open},
       {"memfd_create", SYS_memfd_create}}};
  std::vector<std::string> missing;
  for (const auto& [name, number] : kCalls) {
    long bad = number == SYS_close_range ? 1 : -1;  // from 1 to 0
    long result = number == SYS_close_range ? syscall(number, bad, 0, 0)
                                            : syscall(number, bad, 0, bad, bad, bad);
    if (result < 0 && errno == ENOSYS) missing.emplace_back(name);
  }
  Finding finding{.feature = "system calls", .available = missing.empty()};
  finding.detail = missing.empty() ? "all that a launch makes are there"
                                   : "not there: " + base::Join(missing, ", ");
  if (!missing.empty()) {
    finding.remedy =
        "use Linux 5.19 or newer, or a container seccomp profile that does not hide them.";
  }
  return finding;
}

Finding LandlockFinding(int abi, int error) {
  Finding finding{.feature = "landlock", .available = abi >= 2};
  if (abi == 0 && error == EOPNOTSUPP) {
    finding.detail = "built into this kernel, but off";
    finding.remedy = "add landlock to the lsm= list of the kernel command line and boot again.";
    return finding;
  }
  if (abi == 0) {
    finding.detail = "none: " + base::ErrnoText(error);
    finding.remedy = "use Linux 5.19 or newer with CONFIG_SECURITY_LANDLOCK=y.";
    return finding;
  }
  finding.detail = "ABI " + std::to_string(abi);
  size_t next = static_cast<size_t>(abi);
  if (next < kLandlockAdds.size()) {
    finding.detail +=
        "; ABI " + std::to_string(abi + 1) + " would add " + std::string(kLandlockAdds[next]);
  }
  if (abi < 2) finding.remedy = kNewerKernel;
  return finding;
}

Finding ExamineLandlock() {
  errno = 0;
  int abi = ProbeFacts().landlock_abi;
  int error = 0;
  if (abi == 0 &&
      syscall(SYS_landlock_create_ruleset, nullptr, 0, uapi::kLandlockCreateRulesetVersion) < 0) {
    error = errno;
  }
  return LandlockFinding(abi, error);
}

Finding ExamineSeccompNotify() {
  TrialResult tried = Try(TrialUser::kUnprivileged, TryListener);
  if (tried.step < kSetFlags) return WithoutListener(tried);
  return {.feature = "seccomp notification",
          .available = true,
          .detail = "the broker can answer for protected names and unix sockets"};
}

Finding ExamineSyncWakeUp() {
  TrialResult tried = Try(TrialUser::kUnprivileged, TryListener);
  bool there = tried.step == kListening;
  return {.feature = "synchronous wake-up",
          .available = there,
          .need = Need::kHelpful,
          .detail = there                     ? "notifications are answered in microseconds"
                    : tried.step == kSetFlags ? "notifications are slower, not weaker"
                                              : "needs seccomp notification",
          .remedy = tried.step == kSetFlags ? "use Linux 6.6 or newer." : ""};
}

Finding ExaminePidfdGetfd() {
  TrialResult tried = Try(TrialUser::kUnprivileged, TryPidfdGetfd);
  Finding finding{.feature = "pidfd_getfd", .available = tried.error == 0};
  finding.detail =
      finding.available ? "the broker can take a caller's socket" : base::ErrnoText(tried.error);
  if (finding.available) return finding;
  finding.remedy = tried.error == ENOSYS
                       ? kNewerKernel
                       : "set kernel.yama.ptrace_scope to 0 or 1, or allow pidfd_getfd in the "
                         "container's seccomp profile.";
  return finding;
}

Finding ExamineIdmappedMounts() {
  TrialResult tried = Try(TrialUser::kSelf, TryIdmap);
  Finding finding{.feature = "id-mapped mounts", .available = tried.error == 0};
  if (finding.available) {
    finding.detail = "files of the current directory keep their owner in a launch by root";
    return finding;
  }
  finding.detail = "not for the current directory (" + base::ErrnoText(tried.error) +
                   "): started by root, the command is uid 0 without capabilities";
  finding.remedy = tried.error == EPERM
                       ? "start cordon as an ordinary user, or give the container CAP_SYS_ADMIN."
                       : "keep the workspace on ext4, xfs, btrfs or tmpfs, or start cordon as an "
                         "ordinary user.";
  return finding;
}

}  // namespace cordon::host
