// Runs in: supervisor. Who descends from whom, where no pid namespace tells.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <vector>

namespace cordon::spawn {

// All processes below `root`, without it, nearest first.
std::vector<pid_t> Descendants(pid_t root);

// Whether the process of the thread `thread` is `root` or descends from it. Orphans
// of the sandbox are its init's children, so the way up always leads there.
bool IsInTree(pid_t thread, pid_t root);

// Threads of all processes below `root`, without its own.
uint64_t CountTasks(pid_t root);

pid_t GroupOf(pid_t process);   // its process group; -1: it is gone
pid_t ProcessOf(pid_t thread);  // -1: it is gone

}  // namespace cordon::spawn
