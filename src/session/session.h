// One run, from a policy to an outcome. The only place that knows every layer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/log.h"
#include "backend/child_spec.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "plan/plan.h"
#include "session/drop_root.h"
#include "session/run_cgroup.h"
#include "spawn/supervisor.h"

namespace cordon::session {

// Asked now and then, on a thread of its own: rules that hold from now on, or nothing.
using NetNews = std::function<std::optional<guard::NetRules>()>;

struct Request {
  Policy policy;
  std::string workspace;  // absolute
  enum class Chosen { kImplied, kNamed } workspace_chosen = Chosen::kNamed;
  std::vector<std::string> argv;
  std::string directory;  // empty: the workspace
  std::map<std::string, std::string> environment;
  plan::Terminal terminal = plan::Terminal::kNone;
  unsigned terminal_streams = 0;
  plan::FsInputs::Floor floor = plan::FsInputs::Floor::kOn;
  NetNews net_news;                   // may be empty
  std::string program;                // of `cordon` itself, where this is it
  std::shared_ptr<RunCgroup> cgroup;  // made by LeaveRoot; none: RunOnce makes it
  std::shared_ptr<audit::Log> audit;  // made by OpenAudit; none: RunOnce makes it
  // None: the best that this host can have.
  std::optional<host::Backend> backend;
};

// Cordon's own state, where the environment has it elsewhere than below the home.
std::string StateDirectory(const std::map<std::string, std::string>& environment);

// What would be done. Nothing is changed on the host.
Result<plan::Plan> Prepare(const Request& request);

// What the plan's backend will be told.
Result<backend::ChildSpec> Compile(const plan::Plan& plan);

// Begins what takes longest, before there is a request: namespaces for a run by this
// user. Nothing if the process still has root to give up.
std::unique_ptr<spawn::Clone> BeginClone();

// Does it, by the clone if it is of use. With `audit.log` every decision of the run is an event
// there, from before the command can do anything to after it has ended.
Result<Outcome> RunOnce(const Request& request, const spawn::SuperviseOptions& options,
                        std::unique_ptr<spawn::Clone> clone = nullptr);

// Gives up root for `target` (none: nobody) in this process for good, with the
// directories of the request id-mapped. Where a file system cannot be, the process
// stays root and `Prepare` plans for a root without capabilities. Where namespaces
// cannot be made, the request's backend is chosen here: nothing can be id-mapped then,
// and the process becomes the target, or who owns the workspace.
Status LeaveRoot(Request& request, const std::optional<Unprivileged>& target);

}  // namespace cordon::session
