// Runs in: init, and the watcher of a run without namespaces. No libc.
#pragma once

#include <stdint.h>

namespace cordon::spawn {

// The watcher's descriptors, besides 0, 1 and 2, which are /dev/null.
inline constexpr int kWatchFd = 3;  // pid of init comes in here; its end is the end
inline constexpr int kReadyFd = 4;  // an errno goes out, once the directories are there

// argv of the watcher: "cordon-init", "-w", the path of the run's own directory.
inline constexpr char kOptionWatch = 'w';

// What init signals to have the broker signal the whole sandbox: no process can have
// that number, so that where there is no broker nobody is signalled.
inline constexpr int32_t kAskForEveryone = 0x7fffffff;

// Signals all descendants of `root`, as far as /proc tells. False: there are none.
bool SignalDescendants(long root, long signal) noexcept;

// The watcher: makes the directory with `tmp`, `shm`, `proc` and `dev` in it, waits for the
// supervisor to end in whatever way, ends what is left of the sandbox, and removes
// the directory.
[[noreturn]] void Watch(const char* directory) noexcept;

}  // namespace cordon::spawn
