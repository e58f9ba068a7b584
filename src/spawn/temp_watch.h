// Runs in: supervisor. How much a run keeps where nothing sets a size: without namespaces
// in its own directory on the host, by a setuid bubblewrap in its private file systems. It only
// looks: the supervisor ends the run.
#pragma once

#include <stdint.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace cordon::spawn {

class TempWatch {
 public:
  // An empty directory: nothing is watched.
  TempWatch(std::string directory, uint64_t limit)
      : directory_(std::move(directory)), limit_(limit) {}

  // The private file systems at these paths below the sandbox's root, where they are.
  void WatchMounts(int root, std::initializer_list<const char*> paths);

  bool needed() const { return !directory_.empty() || !mounts_.empty(); }
  // When to look next: a tree that takes long to walk is walked less often.
  std::chrono::milliseconds interval() const { return interval_; }
  bool Exceeded();

 private:
  std::string directory_;
  std::vector<sys::UniqueFd> mounts_;
  uint64_t limit_;
  std::chrono::milliseconds interval_{20};
};

}  // namespace cordon::spawn
