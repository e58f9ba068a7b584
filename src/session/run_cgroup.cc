#include "session/run_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "sys/signals.h"

namespace cordon::session {
namespace {

plan::CgroupLimits Possible(const LimitPolicy& limits, const host::CgroupHome& home) {
  return {.memory = limits.memory && !home.memory.empty(),
          .processes = limits.processes && !home.processes.empty()};
}

std::string NewName() {
  static std::atomic<unsigned> count = 0;
  return "cordon-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

bool Write(int directory, const char* name, const std::string& text) {
  sys::UniqueFd file(openat(directory, name, O_WRONLY | O_CLOEXEC));
  return file.valid() && write(file.get(), text.data(), text.size()) == ssize_t(text.size());
}

// Swap is memory too; a kernel that does not count it has no such file.
bool LimitMemory(int directory, int version, uint64_t bytes) {
  std::string limit = std::to_string(bytes);
  if (version == 2) {
    Write(directory, "memory.swap.max", "0");
    return Write(directory, "memory.max", limit);
  }
  bool limited = Write(directory, "memory.limit_in_bytes", limit);
  Write(directory, "memory.memsw.limit_in_bytes", limit);
  return limited;
}

void CloseAllBut(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned first = 0;
  for (int fd : kept) {
    if (unsigned(fd) > first) syscall(SYS_close_range, first, unsigned(fd) - 1, 0);
    first = unsigned(fd) + 1;
  }
  syscall(SYS_close_range, first, ~0u, 0);
}

// Waits until nobody holds the other end of `lifeline`, and then until what is inside
// has ended. A tree that does not end keeps its cgroup and its limits.
void Clean(int lifeline, const std::vector<int>& homes, const char* name) {
  char byte;
  while (read(lifeline, &byte, 1) < 0 && errno == EINTR) {
  }
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};
  for (int home : homes) {
    for (int tries = 0; tries < 5000; ++tries) {
      if (unlinkat(home, name, AT_REMOVEDIR) == 0 || errno != EBUSY) break;
      nanosleep(&kPause, nullptr);
    }
  }
}

}  // namespace

RunCgroup::RunCgroup(int version) : name_(NewName()), version_(version) {}

RunCgroup::~RunCgroup() {
  lifeline_.reset();
  while (cleaner_ > 0 && waitpid(cleaner_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::unique_ptr<RunCgroup> RunCgroup::Make(const LimitPolicy& limits) {
  if (!limits.memory && !limits.processes) return nullptr;
  host::CgroupHome home = host::FindCgroupHome();
  plan::CgroupLimits wanted = Possible(limits, home);
  if (wanted == plan::CgroupLimits{}) return nullptr;
  std::unique_ptr<RunCgroup> cgroup(new RunCgroup(home.version));
  // First: what is made must go, whatever becomes of this process.
  if (!cgroup->StartCleaner({home.memory, home.processes})) return nullptr;
  bool made =
      home.version == 2
          ? cgroup->Add(home.memory, limits, wanted)
          : (!wanted.memory || cgroup->Add(home.memory, limits, {.memory = true})) &&
                (!wanted.processes || cgroup->Add(home.processes, limits, {.processes = true}));
  return made ? std::move(cgroup) : nullptr;
}

plan::CgroupLimits RunCgroup::Foresee(const LimitPolicy& limits) {
  return limits.memory || limits.processes ? Possible(limits, host::FindCgroupHome())
                                           : plan::CgroupLimits{};
}

bool RunCgroup::StartCleaner(const std::vector<std::string>& homes) {
  std::vector<sys::UniqueFd> opened;
  for (const std::string& home : homes) {
    sys::UniqueFd fd(open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd.valid()) opened.push_back(std::move(fd));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  sys::UniqueFd watched(ends[0]);
  lifeline_.reset(ends[1]);
  std::vector<int> kept = {watched.get()};
  std::vector<int> directories;
  for (const sys::UniqueFd& fd : opened) directories.push_back(fd.get());
  kept.insert(kept.end(), directories.begin(), directories.end());
  cleaner_ = fork();
  if (cleaner_ != 0) return cleaner_ > 0;
  sys::SignalsBlocked blocked;  // what ends a run from its terminal is not meant for this
  setsid();
  CloseAllBut(kept);
  Clean(watched.get(), directories, name_.c_str());
  _exit(0);
}

bool RunCgroup::Add(const std::string& home, const LimitPolicy& limits, plan::CgroupLimits kinds) {
  std::string path = home + "/" + name_;
  if (mkdir(path.c_str(), 0755) != 0) return false;
  sys::UniqueFd own(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return false;
  if (kinds.memory) {
    if (!LimitMemory(own.get(), version_, *limits.memory)) return false;
    memory_events_.reset(openat(own.get(), version_ == 2 ? "memory.events" : "memory.oom_control",
                                O_RDONLY | O_CLOEXEC));
    if (!memory_events_.valid()) return false;
    holds_.memory = true;
  }
  if (kinds.processes) {
    // Init is one of them.
    if (!Write(own.get(), "pids.max", std::to_string(*limits.processes + 1))) return false;
    holds_.processes = true;
  }
  entries_.emplace_back(openat(own.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
  return entries_.back().valid();
}

std::vector<int> RunCgroup::entries() const {
  std::vector<int> fds;
  for (const sys::UniqueFd& entry : entries_) fds.push_back(entry.get());
  return fds;
}

uint64_t RunCgroup::MemoryKills() const {
  char text[512];
  ssize_t got = memory_events_.valid() ? pread(memory_events_.get(), text, sizeof(text) - 1, 0) : 0;
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* found = strstr(text, "oom_kill ");
  return found != nullptr ? strtoull(found + 9, nullptr, 10) : 0;
}

}  // namespace cordon::session
