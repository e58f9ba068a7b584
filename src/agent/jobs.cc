#include "agent/jobs.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::agent {
namespace {

bool Ended(const Job& job) { return job.run->WaitUntil(RunningCommand::Clock::now()); }

}  // namespace

Result<Job> Jobs::Start(std::string command, session::Request request, const LeakGuard* leaks) {
  {
    std::lock_guard lock(mutex_);
    auto running = static_cast<size_t>(
        std::ranges::count_if(jobs_, [](const Job& job) { return !Ended(job); }));
    if (running >= kMostRunning) {
      return Error{.code = Code::kResourceExhausted,
                   .reason = Reason::kProcessLimit,
                   .message = std::to_string(running) + " commands run already",
                   .hint = "wait for one of them, or end one with shell_kill"};
    }
  }
  std::string directory = request.directory;
  CORDON_ASSIGN_OR_RETURN(std::shared_ptr<RunningCommand> run,
                          RunningCommand::Start(std::move(request), leaks));
  std::lock_guard lock(mutex_);
  Forget();
  jobs_.push_back({"c" + std::to_string(++last_), std::move(command), directory, std::move(run)});
  return jobs_.back();
}

// The oldest of those that have ended, when there are many.
void Jobs::Forget() {
  auto ended = static_cast<size_t>(std::ranges::count_if(jobs_, Ended));
  while (ended > kMostEnded) {
    jobs_.erase(std::ranges::find_if(jobs_, Ended));
    --ended;
  }
}

Result<Job> Jobs::Find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(jobs_, id, &Job::id);
  if (found != jobs_.end()) return *found;
  return base::InvalidArgument(Reason::kArgumentInvalid,
                               "there is no command \"" + base::Printable(id) + "\"",
                               "shell_output without an id lists them");
}

std::vector<Job> Jobs::All() const {
  std::lock_guard lock(mutex_);
  return {jobs_.begin(), jobs_.end()};
}

}  // namespace cordon::agent
