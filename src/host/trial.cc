#include "host/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fd.h"

namespace cordon::host {
namespace {

constexpr long kNobody = 65534;

// Raw calls: glibc's would tell all threads of a process that has none here.
bool BecomeNobody() {
  if (syscall(SYS_setgroups, 0, nullptr) != 0 ||
      syscall(SYS_setresgid, kNobody, kNobody, kNobody) != 0 ||
      syscall(SYS_setresuid, kNobody, kNobody, kNobody) != 0) {
    return false;
  }
  // The change of identity made /proc/self root's.
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

}  // namespace

TrialResult Try(TrialUser user, TrialResult (*body)(const void*), const void* argument) {
  const TrialResult lost{-1, ECHILD};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, errno};
  sys::UniqueFd reader(ends[0]), writer(ends[1]);
  pid_t pid = fork();
  if (pid < 0) return {-1, errno};
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    TrialResult result{-1, EPERM};
    if (user == TrialUser::kSelf || geteuid() != 0 || BecomeNobody()) result = body(argument);
    _exit(write(ends[1], &result, sizeof(result)) == ssize_t{sizeof(result)} ? 0 : 1);
  }
  writer.reset();
  TrialResult result;
  ssize_t got;
  do {
    got = read(reader.get(), &result, sizeof(result));
  } while (got < 0 && errno == EINTR);
  pid_t ended;
  do {
    ended = waitpid(pid, nullptr, 0);
  } while (ended < 0 && errno == EINTR);
  return got == ssize_t{sizeof(result)} ? result : lost;
}

}  // namespace cordon::host
