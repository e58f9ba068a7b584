// Runs in: supervisor. How much a run without namespaces keeps in its own directory
// on the host, which has no size of its own. It only looks: the supervisor ends the run.
#pragma once

#include <stdint.h>

#include <chrono>
#include <string>

namespace cordon::spawn {

class TempWatch {
 public:
  // An empty directory: nothing is watched.
  TempWatch(std::string directory, uint64_t limit)
      : directory_(std::move(directory)), limit_(limit) {}

  bool needed() const { return !directory_.empty(); }
  // When to look next: a tree that takes long to walk is walked less often.
  std::chrono::milliseconds interval() const { return interval_; }
  bool Exceeded();

 private:
  std::string directory_;
  uint64_t limit_;
  std::chrono::milliseconds interval_{20};
};

}  // namespace cordon::spawn
