// Runs in: supervisor. Its side of the watcher (watch.h): a process that outlives the
// supervisor by as long as it takes to end a sandbox that no namespace ends, and to
// remove what the run had on the host.
#pragma once

#include <sys/types.h>

#include <string>

#include "cordon/result.h"
#include "sys/fd.h"

namespace cordon::spawn {

class Watcher {
 public:
  // Makes the run's own directory, with `tmp`, `shm`, `proc` and `dev` in it.
  static Result<Watcher> Start();
  Watcher(Watcher&& other) noexcept;
  Watcher& operator=(Watcher&&) = delete;
  ~Watcher();  // the directory is gone when it returns

  const std::string& directory() const { return directory_; }
  // From then on the watcher ends what init is the root of.
  void Watch(pid_t init) const;

 private:
  Watcher() = default;
  std::string directory_;
  sys::UniqueFd control_;
  pid_t pid_ = -1;
};

}  // namespace cordon::spawn
