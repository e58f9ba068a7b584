// Runs in: init, and the watcher of a run without namespaces. No libc.
#include "spawn/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include <initializer_list>

#include "sys/raw.h"

namespace cordon::spawn {
namespace {

using raw::Arg;
using raw::Syscall;

// More than a limit of processes would let be; the rest is found the next time.
constexpr int kMostProcesses = 8192;
long found[kMostProcesses];

struct Entry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

char* AppendText(char* end, const char* text) {
  while (*text != '\0') *end++ = *text++;
  *end = '\0';
  return end;
}

char* AppendNumber(char* end, long number) {
  char digits[24];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) *end++ = digits[--count];
  *end = '\0';
  return end;
}

// Calls `act` with each entry of the directory, but the two dots.
template <typename Act>
void ForEachEntry(long directory, Act act) {
  alignas(Entry) char buffer[4096];
  long size;
  while ((size = Syscall(__NR_getdents64, directory, Arg(buffer), sizeof(buffer))) > 0) {
    for (long at = 0; at < size;) {
      auto* entry = reinterpret_cast<Entry*>(buffer + at);
      at += entry->length;
      bool dots = entry->name[0] == '.' &&
                  (entry->name[1] == '\0' || (entry->name[1] == '.' && entry->name[2] == '\0'));
      if (!dots) act(*entry);
    }
  }
}

// The numbers in /proc/PID/task/TID/children, added to `found`.
void AddChildren(const char* path, int& count) {
  long file = Syscall(__NR_openat, AT_FDCWD, Arg(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[4096];
  long size, number = 0;
  while ((size = Syscall(__NR_read, file, Arg(text), sizeof(text))) > 0) {
    for (long i = 0; i < size; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        number = number * 10 + (text[i] - '0');
      } else {
        if (number > 0 && count < kMostProcesses) found[count++] = number;
        number = 0;
      }
    }
  }
  Syscall(__NR_close, file);
}

void AddChildrenOf(long process, int& count) {
  char path[96];
  char* tasks = AppendText(AppendNumber(AppendText(path, "/proc/"), process), "/task");
  long directory = Syscall(__NR_openat, AT_FDCWD, Arg(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ForEachEntry(directory, [&](const Entry& entry) {
    AppendText(AppendText(AppendText(tasks, "/"), entry.name), "/children");
    AddChildren(path, count);
  });
  Syscall(__NR_close, directory);
}

void Pause() {
  timespec pause{0, 2'000'000};
  Syscall(__NR_nanosleep, Arg(&pause), 0);
}

long Open(long at, const char* name) {
  constexpr long kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  long directory = Syscall(__NR_openat, at, Arg(name), kFlags);
  if (directory != -EACCES) return directory;
  // The command may have closed its own directory.
  Syscall(__NR_fchmodat, at, Arg(name), 0700);
  return Syscall(__NR_openat, at, Arg(name), kFlags);
}

// Moves all that is in the directory `name` up beside it. True: something moved or went.
bool Unpack(long directory, const char* name, long& serial) {
  long inner = Open(directory, name);
  if (inner < 0) return false;
  Syscall(__NR_fchmodat, directory, Arg(name), 0700);
  bool progress = false;
  ForEachEntry(inner, [&](const Entry& below) {
    bool gone = Syscall(__NR_unlinkat, inner, Arg(below.name), 0) == 0;
    if (!gone) {
      char up[32];
      AppendNumber(AppendText(up, ".up-"), ++serial);
      // A directory that is moved is written to.
      Syscall(__NR_fchmodat, inner, Arg(below.name), 0700);
      gone = Syscall(__NR_renameat2, inner, Arg(below.name), directory, Arg(up), 0) == 0;
    }
    progress = gone || progress;
  });
  Syscall(__NR_close, inner);
  return progress;
}

// Empties `directory`. However deep a tree is, no more than two descriptors are open:
// what lies in a directory of it is first moved up.
bool Empty(long directory, long& serial) {
  bool left = true, progress = true;
  while (left && progress) {
    left = progress = false;
    Syscall(__NR_lseek, directory, 0, SEEK_SET);
    ForEachEntry(directory, [&](const Entry& entry) {
      bool gone = Syscall(__NR_unlinkat, directory, Arg(entry.name), 0) == 0 ||
                  Syscall(__NR_unlinkat, directory, Arg(entry.name), AT_REMOVEDIR) == 0;
      left = left || !gone;
      progress = gone || Unpack(directory, entry.name, serial) || progress;
    });
  }
  return !left;
}

// `directory` is the one that was made, whatever its name leads to by now.
void Remove(const char* path, long directory) {
  long serial = 0;
  // Someone may still be writing, for as long as it takes a process to end.
  for (int attempt = 0; attempt < 100; ++attempt) {
    bool empty = Empty(directory, serial);
    if (empty && Syscall(__NR_unlinkat, AT_FDCWD, Arg(path), AT_REMOVEDIR) == 0) break;
    Pause();
  }
}

// A descriptor of the new directory.
long Make(const char* path) {
  long result = Syscall(__NR_mkdirat, AT_FDCWD, Arg(path), 0700);
  long directory = result < 0 ? result : Open(AT_FDCWD, path);
  for (const char* name : {"tmp", "shm", "proc", "dev"}) {
    if (directory < 0) return directory;
    result = Syscall(__NR_mkdirat, directory, Arg(name), 0700);
    if (result < 0) return result;
  }
  return directory;
}

// Init ends its tree itself; where it cannot, this does.
void EndSandbox(long init, long pidfd) {
  constexpr int kMost = 2500;  // times 2 ms
  for (int attempt = 0; attempt < kMost; ++attempt) {
    pollfd ended{static_cast<int>(pidfd), POLLIN, 0};
    timespec moment{0, 2'000'000};
    if (Syscall(__NR_ppoll, Arg(&ended), 1, Arg(&moment), 0, 8) > 0) return;
    SignalDescendants(init, SIGKILL);
  }
  Syscall(__NR_pidfd_send_signal, pidfd, SIGKILL, 0, 0);
}

}  // namespace

bool SignalDescendants(long root, long signal) noexcept {
  int count = 0;
  AddChildrenOf(root, count);
  for (int i = 0; i < count; ++i) AddChildrenOf(found[i], count);
  for (int i = 0; i < count; ++i) Syscall(__NR_kill, found[i], signal);
  return count > 0;
}

[[noreturn]] void Watch(const char* directory) noexcept {
  uint64_t all = ~0ull;
  Syscall(__NR_rt_sigprocmask, SIG_SETMASK, Arg(&all), 0, 8);
  Syscall(__NR_setsid);
  long made = Make(directory);
  int32_t error = made < 0 ? static_cast<int32_t>(-made) : 0;
  Syscall(__NR_write, kReadyFd, Arg(&error), sizeof(error));
  Syscall(__NR_close, kReadyFd);
  int32_t init = 0, next = 0;
  long pidfd = -1, got;
  while ((got = Syscall(__NR_read, kWatchFd, Arg(&next), sizeof(next))) > 0 || got == -EINTR) {
    if (got != sizeof(next)) continue;
    init = next;
    pidfd = Syscall(__NR_pidfd_open, init, 0);
  }
  if (pidfd >= 0) EndSandbox(init, pidfd);
  if (made >= 0) Remove(directory, made);
  raw::ExitGroup(0);
}

}  // namespace cordon::spawn
