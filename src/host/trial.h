// Trying something in a process that ends afterwards, so that this one stays
// as it is.
#pragma once

namespace cordon::host {

// What a trial came to: the step that it reached and the errno of that step, 0
// when all went well.
struct TrialResult {
  int step = 0;
  int error = 0;
  bool operator==(const TrialResult&) const = default;
};

enum class TrialUser {
  kSelf,
  kUnprivileged,  // the identity of a run: nobody, if this process is root's
};

// Calls `body(argument)` in a forked child and returns what it returned. The
// process may have other threads, so `body` may only call what is safe after
// fork, and must not allocate. A child that dies is {-1, ECHILD}.
TrialResult Try(TrialUser user, TrialResult (*body)(const void*), const void* argument = nullptr);

}  // namespace cordon::host
