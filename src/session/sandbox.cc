#include "cordon/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "session/session.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace cordon {

struct Cancellation::State {
  sys::UniqueFd event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

Cancellation::Cancellation() : state_(std::make_shared<State>()) {}

void Cancellation::Cancel() const {
  uint64_t one = 1;
  static_cast<void>(!write(state_->event.get(), &one, sizeof(one)));
}

bool Cancellation::cancelled() const {
  pollfd event{state_->event.get(), POLLIN, 0};
  return poll(&event, 1, 0) > 0;
}

int Cancellation::fd() const { return state_->event.get(); }

Result<Sandbox> Sandbox::Create(Policy policy, SandboxOptions options) {
  if (!options.workspace.starts_with('/')) {
    return base::InvalidArgument(Reason::kWorkspaceInvalid, "the workspace must be absolute");
  }
  if (options.environment.empty()) options.environment = sys::Environment();
  return Sandbox(std::move(policy), std::move(options));
}

Result<Outcome> Sandbox::Run(const CommandRequest& command) const {
  if (geteuid() == 0) {
    return base::Unsupported("a process of root's does not supervise sandboxes",
                             "start `cordon run`, which gives up root for good, or drop "
                             "privileges first");
  }
  sys::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return base::SystemError("open /dev/null", errno);
  session::Request request{.policy = policy_,
                           .workspace = options_.workspace,
                           .argv = command.argv,
                           .directory = command.directory,
                           .environment = options_.environment};
  spawn::SuperviseOptions options{
      .streams = {null.get(), null.get(), null.get()},
      .output = spawn::OutputMode::kCapture,
      .cancel_fd = command.cancellation == nullptr ? -1 : command.cancellation->fd()};
  return session::RunOnce(request, options);
}

}  // namespace cordon
