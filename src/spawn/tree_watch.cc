// Runs in: supervisor.
#include "spawn/tree_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spawn/process_tree.h"

namespace cordon::spawn {
namespace {

// Reads a small file of /proc below `directory`; empty if it is gone.
std::string_view ReadSmall(int directory, const char* name, const char* file,
                           char (&buffer)[2048]) {
  char path[320];
  snprintf(path, sizeof(path), "%s/%s", name, file);
  sys::UniqueFd fd(openat(directory, path, O_RDONLY | O_CLOEXEC));
  ssize_t got = fd.valid() ? read(fd.get(), buffer, sizeof(buffer) - 1) : -1;
  if (got <= 0) return {};
  buffer[got] = '\0';
  return {buffer, static_cast<size_t>(got)};
}

uint64_t Resident(int proc, const char* pid) {
  char buffer[2048];
  uint64_t pages = 0;
  if (ReadSmall(proc, pid, "statm", buffer).empty()) return 0;
  if (sscanf(buffer, "%*u %lu", &pages) != 1) return 0;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Shared pages counted once, divided among those who share them.
uint64_t Proportional(int proc, const char* pid) {
  char buffer[2048];
  std::string_view text = ReadSmall(proc, pid, "smaps_rollup", buffer);
  size_t at = text.find("\nPss:");
  return at == std::string_view::npos ? 0 : strtoull(text.data() + at + 5, nullptr, 10) * 1024;
}

uint64_t CpuMilliseconds(int proc, const char* pid) {
  char buffer[2048];
  if (ReadSmall(proc, pid, "stat", buffer).empty()) return 0;
  const char* after = strrchr(buffer, ')');
  long ticks[4] = {};
  if (after == nullptr ||
      sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld", &ticks[0],
             &ticks[1], &ticks[2], &ticks[3]) != 4) {
    return 0;
  }
  uint64_t total = 0;
  for (long value : ticks) {
    if (value > 0) total += static_cast<uint64_t>(value);
  }
  return total * 1000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace

TreeWatch::TreeWatch(int root, const plan::Plan& plan, pid_t init)
    : init_(init), cpu_ms_(plan.limits.cpu_ms) {
  if (!plan.cgroup.memory) memory_ = plan.limits.memory;
  // With namespaces the kernel counts all but root's, with Landlock the broker does.
  bool counted = plan.cgroup.processes || plan.backend == host::Backend::kLandlock ||
                 (host::HasNamespaces(plan.backend) && !plan.bubblewrap.setuid && plan.uid != 0);
  if (!counted) processes_ = plan.limits.processes;
  if (!memory_ && !cpu_ms_ && !processes_) return;
  bool own = init == 1;
  proc_.reset(
      openat(own ? root : AT_FDCWD, own ? "proc" : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

template <typename Measure>
uint64_t TreeWatch::Sum(Measure measure) const {
  uint64_t total = 0;
  for (pid_t process : tree_) total += measure(proc_.get(), std::to_string(process).c_str());
  if (init_ != 1) return total;
  DIR* stream = fdopendir(openat(proc_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (stream == nullptr) return 0;
  while (dirent* entry = readdir(stream)) {
    bool process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    if (process) total += measure(proc_.get(), entry->d_name);
  }
  closedir(stream);
  return total;
}

std::optional<TreeWatch::Excess> TreeWatch::Exceeded() {
  if (init_ != 1) {
    tree_ = Descendants(init_);
    tree_.push_back(init_);
  }
  // The cheap measure counts shared pages many times: it can only be too high.
  uint64_t resident = memory_ ? Sum(Resident) : 0;
  near_ = memory_ && resident > *memory_ / 2;
  if (memory_ && resident > *memory_) {
    Excess excess{Reason::kMemoryLimit, 0, {}};
    uint64_t most = 0;
    uint64_t total = Sum([&](int proc, const char* pid) {
      uint64_t used = Proportional(proc, pid);
      if (used > most && atoi(pid) != init_) {
        most = used;
        excess.largest = atoi(pid);
      }
      return used;
    });
    if (total > *memory_) {
      char buffer[2048];
      std::string_view comm =
          ReadSmall(proc_.get(), std::to_string(excess.largest).c_str(), "comm", buffer);
      excess.name = comm.substr(0, comm.find('\n'));
      return excess;
    }
  }
  auto one = [](int, const char*) -> uint64_t { return 1; };
  if (processes_ && Sum(one) > *processes_ + 1) return Excess{Reason::kProcessLimit};
  // Of a process that is just ending the kernel can tell times that nobody had.
  auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
  auto possible = static_cast<uint64_t>(elapsed.count() + 1000) *
                  static_cast<uint64_t>(sysconf(_SC_NPROCESSORS_ONLN));
  if (cpu_ms_ && possible > *cpu_ms_ && Sum(CpuMilliseconds) > *cpu_ms_) {
    return Excess{Reason::kCpuLimit};
  }
  return std::nullopt;
}

}  // namespace cordon::spawn
