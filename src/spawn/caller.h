// Runs in: supervisor, broker thread. The process whose system call waits for
// an answer: its memory, its descriptors, its view of the file system. All of
// it is hostile input.
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "cordon/result.h"
#include "sys/fd.h"

namespace cordon::spawn {

// An errno, or success with a value.
template <typename T>
using Answer = std::expected<T, int>;

// A directory, and a name in it that need not exist.
struct Place {
  sys::UniqueFd parent;  // O_PATH
  std::string name;      // one component, never "." or ".."
  std::string path;      // of the parent joined with the name, as seen inside
  bool trailing_slash = false;
};

// Whether a symbolic link at the end of a path is followed.
enum class Follow { kNot, kLast };

class Caller {
 public:
  // `own`: without namespaces, the run's own directory on the host: its `shm` stands
  // for /dev/shm, and its `proc` and `dev` for /proc and /dev. Empty: the root has its own of both.
  Caller(int listener, const seccomp_notif& notification, int root, std::string_view own = {})
      : listener_(listener), notification_(notification), root_(root), own_(own) {}

  uint64_t argument(int index) const { return notification_.data.args[index]; }
  int descriptor(int index) const { return static_cast<int>(notification_.data.args[index]); }
  int call() const { return notification_.data.nr; }
  uint64_t id() const { return notification_.id; }
  pid_t tid() const { return static_cast<pid_t>(notification_.pid); }

  // Copied once; what the caller changes afterwards does not matter.
  Answer<std::string> ReadPath(uint64_t address) const;
  Answer<std::string> ReadBytes(uint64_t address, size_t size) const;

  // Whether the call is still waiting, so that tid() is still who it was.
  bool Waiting() const;

  // The directory part resolved as the caller would, the last component not.
  Answer<Place> Locate(int directory, const std::string& path) const;

  // The file that `path` leads to, links followed, as O_PATH.
  Answer<sys::UniqueFd> Find(int directory, const std::string& path) const;

  // What `path` leads to, as O_PATH. Links of /proc that are not the caller's own are
  // EACCES.
  Answer<sys::UniqueFd> Reach(int directory, const std::string& path, Follow follow) const;
  // What a descriptor of the caller's is about, as O_PATH.
  Answer<sys::UniqueFd> Held(int descriptor) const;

  // A duplicate of the caller's descriptor, which was certainly its own.
  Answer<sys::UniqueFd> Duplicate(int descriptor) const;

  // Puts `with` in the place of the caller's descriptor, which was closed to us. 0 or
  // an errno.
  int Replace(int descriptor, int with, int flags) const;
  // Status flags of the caller's descriptor, O_CLOEXEC among them; -1: it is none.
  int FlagsOf(int descriptor) const;
  // The number of its socket; 0: it is none.
  uint64_t SocketNumber(int descriptor) const;

  // The number of the process inside its pid namespace.
  pid_t InnerPid() const;
  // Device number of the controlling terminal, 0 if it has none.
  unsigned ControllingTerminal() const;
  unsigned Umask() const;

  int root() const { return root_; }

 private:
  Answer<sys::UniqueFd> Resolve(int directory, const std::string& path, uint64_t flags) const;
  Answer<sys::UniqueFd> Walk(const std::string& path, uint64_t flags) const;
  std::string Join(int base, const std::string& path) const;

  int listener_;
  const seccomp_notif& notification_;
  int root_;
  std::string_view own_;
};

// See Caller::Replace.
int ReplaceFd(int listener, uint64_t id, int with, int descriptor, int flags);

// Whether a signal waits to be delivered to the thread `tid`.
bool SignalWaits(pid_t tid);

// The path behind a descriptor, as its own mount namespace sees it.
std::string PathOf(int fd);
bool OnProc(int fd);

}  // namespace cordon::spawn
