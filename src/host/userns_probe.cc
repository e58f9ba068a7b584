#include "host/userns_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/strings.h"
#include "sys/fd.h"
#include "sys/raw.h"
#include "sys/uapi.h"

namespace cordon::host {
namespace {

std::string ReadText(const char* path) {
  sys::UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 8192> buffer;
  ssize_t length = fd.valid() ? read(fd.get(), buffer.data(), buffer.size()) : -1;
  return length < 0 ? std::string() : std::string(buffer.data(), static_cast<size_t>(length));
}

std::optional<long> ReadNumber(const char* path) {
  std::string text = ReadText(path);
  long value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

int SeccompMode() {
  for (const std::string& line : base::Split(ReadText("/proc/self/status"), '\n')) {
    if (line.starts_with("Seccomp:")) return atoi(line.c_str() + 8);
  }
  return 0;
}

// ---- in the child ---------------------------------------------------------

struct Wanted {
  uint64_t namespaces = 0;
  bool tmpfs = false;
  bool proc = false;
  uint32_t uid = 0;
  uint32_t gid = 0;
};

TrialResult At(NamespaceStep step, int error) { return {static_cast<int>(step), error}; }

int WriteText(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  ssize_t written = write(fd, text, raw::Length(text));
  int error = written < 0 ? errno : 0;
  close(fd);
  return error;
}

int MapSelf(uint32_t uid, uint32_t gid) {
  char map[64];
  if (int error = WriteText("/proc/self/setgroups", "deny"); error != 0) return error;
  snprintf(map, sizeof(map), "%u %u 1", uid, uid);
  if (int error = WriteText("/proc/self/uid_map", map); error != 0) return error;
  snprintf(map, sizeof(map), "%u %u 1", gid, gid);
  return WriteText("/proc/self/gid_map", map);
}

// A new mount of that type, attached nowhere: fsmount() makes the checks.
int NewMount(const char* type) {
  long context = syscall(SYS_fsopen, type, uapi::kFsopenCloexec);
  if (context < 0) return errno;
  int error = 0;
  if (syscall(SYS_fsconfig, context, uapi::kFsconfigCmdCreate, nullptr, nullptr, 0) != 0) {
    error = errno;
  }
  if (error == 0) {
    long mount = syscall(SYS_fsmount, context, uapi::kFsmountCloexec, 0);
    if (mount < 0) error = errno;
    if (mount >= 0) close(static_cast<int>(mount));
  }
  close(static_cast<int>(context));
  return error;
}

TrialResult InsideNamespaces(const Wanted& wanted) {
  if (int error = MapSelf(wanted.uid, wanted.gid); error != 0) {
    return At(NamespaceStep::kMap, error);
  }
  if (wanted.tmpfs) {
    if (int error = NewMount("tmpfs"); error != 0) return At(NamespaceStep::kTmpfs, error);
  }
  if (wanted.proc) {
    if (int error = NewMount("proc"); error != 0) return At(NamespaceStep::kProc, error);
  }
  return At(NamespaceStep::kDone, 0);
}

// The same system call that starts a sandbox.
TrialResult TryNamespaces(const void* argument) {
  Wanted wanted = *static_cast<const Wanted*>(argument);
  wanted.uid = geteuid();
  wanted.gid = getegid();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return At(NamespaceStep::kClone, errno);
  raw::CloneArgs clone{};
  clone.flags = wanted.namespaces;
  clone.exit_signal = SIGCHLD;
  long pid = raw::Syscall(SYS_clone3, raw::Arg(&clone), sizeof(clone));
  if (pid < 0) return At(NamespaceStep::kClone, static_cast<int>(-pid));
  if (pid == 0) {
    TrialResult result = InsideNamespaces(wanted);
    raw::ExitGroup(write(ends[1], &result, sizeof(result)) < 0 ? 1 : 0);
  }
  close(ends[1]);
  TrialResult result = At(NamespaceStep::kClone, ECHILD);
  if (read(ends[0], &result, sizeof(result)) < 0) result.error = errno;
  waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return result;
}

// ---- the findings ---------------------------------------------------------

Finding Told(const char* feature, const char* detail, const TrialResult& result,
             const NamespaceSigns& signs) {
  Finding finding{.feature = feature, .available = result.error == 0, .detail = detail};
  if (finding.available) return finding;
  Cause cause = CauseOf(static_cast<NamespaceStep>(result.step), result.error, signs);
  finding.detail = std::move(cause.detail);
  finding.remedy = std::move(cause.remedy);
  return finding;
}

TrialResult TryWanted(const Wanted& wanted) {
  return Try(TrialUser::kUnprivileged, TryNamespaces, &wanted);
}

Cause ProcCause() {
  return {"/proc cannot be mounted anew, because parts of this one are covered (a container)",
          "start the container with an uncovered /proc (docker: --security-opt "
          "systempaths=unconfined; podman: --security-opt unmask=ALL)."};
}

Cause AppArmorCause() {
  return {
      "AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns is 1)",
      "give the cordon binary an AppArmor profile that has `userns,`, or set that sysctl to 0."};
}

Cause LimitCause(const NamespaceSigns& signs) {
  if (signs.inside_cordon) {
    return {"this is inside another Cordon, which lets none be made",
            "the outer boundary holds already; exec.nesting = true in its policy would allow "
            "another inside."};
  }
  std::string value = signs.max_user_namespaces ? std::to_string(*signs.max_user_namespaces) : "?";
  return {"the limit of user namespaces is reached (user.max_user_namespaces is " + value + ")",
          "raise it: sysctl -w user.max_user_namespaces=15000."};
}

}  // namespace

NamespaceSigns ReadNamespaceSigns() {
  return {.max_user_namespaces = ReadNumber("/proc/sys/user/max_user_namespaces"),
          .unprivileged_userns_clone = ReadNumber("/proc/sys/kernel/unprivileged_userns_clone"),
          .apparmor_restrict = ReadNumber("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
          .seccomp_mode = SeccompMode(),
          .inside_cordon = getenv("CORDON_SANDBOX") != nullptr};
}

Cause CauseOf(NamespaceStep step, int error, const NamespaceSigns& signs) {
  bool denied = error == EPERM || error == EACCES;
  if (error == ENOSPC || error == EUSERS || signs.max_user_namespaces == 0) {
    return LimitCause(signs);
  }
  if (step == NamespaceStep::kUser) {
    return {"root cannot become uid 65534 here: " + base::ErrnoText(error),
            "map that uid into the container's user namespace, or start cordon as a user of it."};
  }
  if (denied && signs.unprivileged_userns_clone == 0) {
    return {"they are root's only (kernel.unprivileged_userns_clone is 0)",
            "allow them: sysctl -w kernel.unprivileged_userns_clone=1."};
  }
  // AppArmor lets the namespace be made, and then denies everything in it.
  if (denied && signs.apparmor_restrict.value_or(0) != 0) return AppArmorCause();
  if (denied && step == NamespaceStep::kProc) return ProcCause();
  if ((denied || error == ENOSYS) && signs.seccomp_mode == 2) {
    return {"a seccomp filter around this process denies it (a container engine's)",
            "start the container with a seccomp profile that allows clone, clone3, unshare and "
            "mounts (docker: --security-opt seccomp=FILE)."};
  }
  if (step == NamespaceStep::kClone && (error == EINVAL || error == ENOSYS)) {
    return {"this kernel does not have them", "use Linux 5.19 or newer with CONFIG_USER_NS=y."};
  }
  std::string text = base::ErrnoText(error);
  if (denied && step == NamespaceStep::kClone) {
    return {text + ": a chroot or a security module denies it",
            "run outside a chroot, and look into the audit log of the security module (dmesg)."};
  }
  return {text, "look into dmesg, and please report this with the output of cordon doctor --json."};
}

Finding ExamineUserNamespaces() {
  Wanted everything{.namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                  CLONE_NEWUTS | CLONE_NEWNET | uapi::kCloneNewcgroup,
                    .tmpfs = true,
                    .proc = true};
  return Told("user namespaces", "", TryWanted(everything), ReadNamespaceSigns());
}

std::vector<Finding> ExamineNamespaces() {
  NamespaceSigns signs = ReadNamespaceSigns();
  constexpr uint64_t kUser = CLONE_NEWUSER;
  std::vector<Finding> findings = {Told("user namespaces", "an ordinary user can make them",
                                        TryWanted({.namespaces = kUser}), signs)};
  struct Part {
    const char* feature;
    const char* detail;
    Wanted wanted;
  };
  const Part parts[] = {
      {"mount namespace",
       "with a tmpfs of its own",
       {.namespaces = kUser | CLONE_NEWNS, .tmpfs = true}},
      {"pid namespace",
       "with a /proc of its own",
       {.namespaces = kUser | CLONE_NEWNS | CLONE_NEWPID, .proc = true}},
      {"network namespace", "empty but for loopback", {.namespaces = kUser | CLONE_NEWNET}},
      {"ipc, uts and cgroup namespaces",
       "made together",
       {.namespaces = kUser | CLONE_NEWIPC | CLONE_NEWUTS | uapi::kCloneNewcgroup}},
  };
  for (const Part& part : parts) {
    if (findings[0].available) {
      findings.push_back(Told(part.feature, part.detail, TryWanted(part.wanted), signs));
    } else {
      findings.push_back({.feature = part.feature, .detail = "needs user namespaces"});
    }
  }
  return findings;
}

}  // namespace cordon::host
