// The commands of one agent by their ids: those in the background, and the last few
// that ended, whose output can still be asked for. None outlives it. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/running_command.h"

namespace cordon::agent {

struct Job {
  std::string id;       // "c7"
  std::string command;  // as it was asked for
  std::string directory;
  std::shared_ptr<RunningCommand> run;
};

class Jobs {
 public:
  // Starts it. An error if it cannot be, or if too many run already.
  Result<Job> Start(std::string command, session::Request request, const LeakGuard* leaks);
  Result<Job> Find(const std::string& id) const;
  std::vector<Job> All() const;

 private:
  static constexpr size_t kMostRunning = 64;
  static constexpr size_t kMostEnded = 16;
  void Forget();

  mutable std::mutex mutex_;
  std::list<Job> jobs_;  // guarded by mutex_
  uint64_t last_ = 0;
};

}  // namespace cordon::agent
