// Runs in: supervisor, broker thread. Without a pid namespace: signals and priorities
// reach the sandbox's own processes only.
#pragma once

#include <stdint.h>

#include <chrono>
#include <deque>
#include <optional>

#include "spawn/caller.h"

namespace cordon::spawn {

class ProcessGate {
 public:
  // kScoped: Landlock decides about signals (ABI 6).
  enum class Signals { kScoped, kOurs };
  // `limit`: of processes and threads.
  ProcessGate(pid_t init, Signals signals, std::optional<uint64_t> limit)
      : init_(init), signals_(signals), limit_(limit) {}

  enum class Verdict { kContinue, kDone };
  // Nothing: not a call that is answered here. kContinue is for calls whose
  // arguments are all values: what was judged is what will be done.
  std::optional<Answer<Verdict>> Answer1(const Caller& caller);

 private:
  Answer<Verdict> Kill(const Caller& caller, pid_t target, int signal) const;
  Answer<Verdict> KillMany(const Caller& caller, pid_t target, int signal) const;
  Answer<Verdict> KillOne(pid_t caller, pid_t target, int signal) const;
  Answer<Verdict> KillThread(const Caller& caller, pid_t thread, int signal) const;
  Answer<Verdict> KillByDescriptor(const Caller& caller) const;
  Answer<Verdict> Schedule(pid_t target) const;
  Answer<Verdict> Own(const Caller& caller, pid_t target) const;

  Answer<Verdict> Fork();

  pid_t init_;
  Signals signals_;
  std::optional<uint64_t> limit_;
  uint64_t allowed_ = 0;  // before they have to be counted again
  using Clock = std::chrono::steady_clock;
  std::deque<Clock::time_point> recent_;  // allowed, and perhaps not to be seen yet
};

}  // namespace cordon::spawn
