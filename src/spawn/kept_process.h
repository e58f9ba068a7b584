// Runs in: supervisor, and a keeper process of its own. A command of the user's on
// the host's side that serves a run, such as a proxy. It and all that it starts end
// with the owner of this, also when that is killed.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cordon/result.h"
#include "sys/fd.h"

namespace cordon::spawn {

struct KeptCommand {
  std::string program;  // absolute
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
};

// Move-only; ending it ends the command and all that it started: SIGTERM, a second
// to act on it, SIGKILL.
class KeptProcess {
 public:
  // Its stdin and stdout are /dev/null, its stderr is ours; no terminal signal
  // reaches it. An error, with its errno, if it cannot be executed.
  static Result<KeptProcess> Start(const KeptCommand& command);
  KeptProcess(KeptProcess&& other) noexcept;
  KeptProcess& operator=(KeptProcess&& other) noexcept;
  ~KeptProcess();

  // Readable once the command and all that it started are gone.
  int ended_fd() const { return status_.get(); }
  // How the command itself ended, as waitpid tells it; only then.
  std::optional<int> WaitStatus();

 private:
  KeptProcess(pid_t keeper, sys::UniqueFd lifeline, sys::UniqueFd status)
      : keeper_(keeper), lifeline_(std::move(lifeline)), status_(std::move(status)) {}
  void End();

  pid_t keeper_ = -1;
  sys::UniqueFd lifeline_;  // its end is the end
  sys::UniqueFd status_;
};

}  // namespace cordon::spawn
