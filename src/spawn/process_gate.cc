// Runs in: supervisor, broker thread.
#include "spawn/process_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spawn/process_tree.h"
#include "spawn/watch.h"

// Calls that newer architectures do not have get numbers that never come.
#ifndef __NR_fork
#define __NR_fork (-21)
#define __NR_vfork (-22)
#endif

namespace cordon::spawn {
namespace {

using Verdict = ProcessGate::Verdict;

std::unexpected<int> Fail(int error) { return std::unexpected(error); }

constexpr uint64_t kIoPriorityProcess = 1;

}  // namespace

std::optional<Answer<Verdict>> ProcessGate::Answer1(const Caller& caller) {
  auto pid = [&](int index) { return static_cast<pid_t>(caller.descriptor(index)); };
  switch (caller.call()) {
    case __NR_clone:
    case __NR_fork:
    case __NR_vfork:
      return Fork();
    case __NR_kill:
      return Kill(caller, pid(0), caller.descriptor(1));
    case __NR_tkill:
      return KillThread(caller, pid(0), caller.descriptor(1));
    case __NR_tgkill:
      return KillThread(caller, pid(1), caller.descriptor(2));
    case __NR_rt_sigqueueinfo:
    case __NR_rt_tgsigqueueinfo:
      if (signals_ == Signals::kScoped || ProcessOf(pid(0)) == ProcessOf(caller.tid())) {
        return Verdict::kContinue;
      }
      return Fail(EPERM);
    case __NR_pidfd_send_signal:
      return KillByDescriptor(caller);
    case __NR_sched_setaffinity:
    case __NR_sched_setscheduler:
    case __NR_sched_setparam:
    case __NR_sched_setattr:
      return Schedule(pid(0));
    case __NR_fcntl:  // F_SETOWN
      return Own(caller, pid(2));
    case __NR_setpriority:
      if (caller.argument(0) != PRIO_PROCESS) return Fail(EPERM);
      return Schedule(pid(1));
    case __NR_ioprio_set:
      if (caller.argument(0) != kIoPriorityProcess) return Fail(EPERM);
      return Schedule(pid(1));
    default:
      return std::nullopt;
  }
}

// Its arguments are values, and only how many there are decides. What was allowed a
// moment ago counts as not seen yet: at the limit it may be a few less.
Answer<Verdict> ProcessGate::Fork() {
  if (!limit_) return Verdict::kContinue;
  constexpr std::chrono::milliseconds kMoment{20};
  Clock::time_point now = Clock::now();
  while (!recent_.empty() && recent_.front() < now - kMoment) recent_.pop_front();
  if (allowed_ == 0) {
    uint64_t used = CountTasks(init_) + recent_.size();
    if (used >= *limit_) return Fail(EAGAIN);
    allowed_ = *limit_ - used;
  }
  --allowed_;
  recent_.push_back(now);
  return Verdict::kContinue;
}

Answer<Verdict> ProcessGate::Schedule(pid_t target) const {
  if (!IsInTree(target, init_)) return Fail(ESRCH);
  return Verdict::kContinue;
}

// Whom a descriptor signals when it is ready: a process of the sandbox, or the
// caller's own group.
Answer<Verdict> ProcessGate::Own(const Caller& caller, pid_t target) const {
  if (target == 0) return Verdict::kContinue;
  if (target > 0) return Schedule(target);
  if (-target != GroupOf(ProcessOf(caller.tid()))) return Fail(EPERM);
  return Verdict::kContinue;
}

Answer<Verdict> ProcessGate::Kill(const Caller& caller, pid_t target, int signal) const {
  if (signals_ == Signals::kScoped) return Verdict::kContinue;
  pid_t process = ProcessOf(caller.tid());
  if (target == process) return Verdict::kContinue;
  if (target == kAskForEveryone && process == init_) return KillMany(caller, -1, signal);
  if (target > 0) return KillOne(process, target, signal);
  return KillMany(caller, target, signal);
}

// By descriptor: what was found to be of the sandbox is what gets the signal.
Answer<Verdict> ProcessGate::KillOne(pid_t caller, pid_t target, int signal) const {
  sys::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, target, 0)));
  if (!process.valid()) return Fail(ESRCH);
  if (!IsInTree(target, init_)) return Fail(EPERM);
  if (target == init_ && caller != init_ && signal != 0) return Fail(EPERM);
  if (syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) != 0) return Fail(errno);
  return Verdict::kDone;
}

Answer<Verdict> ProcessGate::KillMany(const Caller& caller, pid_t target, int signal) const {
  pid_t process = ProcessOf(caller.tid());
  pid_t group = target == 0 ? GroupOf(process) : -target;
  bool any = false;
  for (pid_t one : Descendants(init_)) {
    if (target == -1 ? one == process : GroupOf(one) != group) continue;
    any = KillOne(process, one, signal).has_value() || any;
  }
  if (!any) return Fail(ESRCH);
  return Verdict::kDone;
}

Answer<Verdict> ProcessGate::KillThread(const Caller& caller, pid_t thread, int signal) const {
  if (signals_ == Signals::kScoped) return Verdict::kContinue;
  pid_t process = ProcessOf(thread);
  if (process == ProcessOf(caller.tid())) return Verdict::kContinue;
  if (process < 0) return Fail(ESRCH);
  if (process == init_ || !IsInTree(process, init_)) return Fail(EPERM);
  if (syscall(SYS_tgkill, process, thread, signal) != 0) return Fail(errno);
  return Verdict::kDone;
}

Answer<Verdict> ProcessGate::KillByDescriptor(const Caller& caller) const {
  if (signals_ == Signals::kScoped) return Verdict::kContinue;
  char path[64], text[512];
  snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", caller.tid(), caller.descriptor(0));
  sys::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  ssize_t got = file.valid() ? read(file.get(), text, sizeof(text)) : -1;
  std::string_view info(text, got > 0 ? static_cast<size_t>(got) : 0);
  size_t at = info.find("\nPid:");
  if (at == std::string_view::npos || !caller.Waiting()) return Fail(EBADF);
  if (caller.argument(2) != 0) return Fail(EPERM);  // what the signal says is behind a pointer
  return KillOne(ProcessOf(caller.tid()), atoi(std::string(info.substr(at + 5)).c_str()),
                 caller.descriptor(1));
}

}  // namespace cordon::spawn
