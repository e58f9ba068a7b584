#include <dirent.h>
#include <unistd.h>

#include "backend/linux/self.h"
#include "base/error.h"
#include "base/strings.h"
#include "cordon/runtime.h"
#include "plan/required.h"
#include "session/session.h"
#include "spawn/child.h"
#include "spawn/flat.h"
#include "sys/process.h"

namespace cordon {
namespace {

int CountThreads() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  int count = 0;
  while (dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(tasks);
  return count;
}

Status CheckPossible(const Policy& policy) {
  auto refuse = [](const std::string& key, const char* why) {
    return base::Unsupported(key + " cannot be had by a process that confines itself: " + why,
                             "run the command by Sandbox::Run or `cordon run`");
  };
  if (geteuid() == 0) return refuse("uid 0", "root's files stay root's");
  // Landlock and the filter would hold for this thread alone.
  if (CountThreads() != 1) return refuse("more than one thread", "it is for the first alone");
  const NetPolicy& net = policy.net;
  if (net.mode == NetMode::kProxy || net.mode == NetMode::kPublic) {
    return refuse("net.mode", "no proxy is beside it");
  }
  if (!net.host_ports.empty() || !net.publish.empty()) {
    return refuse(net.publish.empty() ? "net.host_ports" : "net.publish", "no broker is beside it");
  }
  return {};
}

std::vector<Enforcement> EnforcedOn(const plan::Plan& plan, const std::string& hole) {
  bool open = plan.net.mode == NetMode::kOpen;
  bool scoped = plan.landlock_abi >= 6;
  std::string closed = hole.empty() ? "" : base::Printable(hole) + " in a writable root is open";
  Level files = hole.empty() ? Level::kFull : Level::kPartial;
  return {
      {"fs.read", "landlock", Level::kPartial,
       "that a denied file exists can be seen" + (hole.empty() ? "" : "; " + closed)},
      {"fs.write", "landlock", files, closed},
      {"fs.floor", "landlock", Level::kPartial, "protected names that are not there can be made"},
      {"net", open ? "" : "seccomp, landlock", open ? Level::kNone : Level::kFull,
       open ? "net.mode is \"open\"" : ""},
      {"unix", scoped ? "landlock, seccomp" : "seccomp", Level::kPartial,
       "sockets can be connected to by their path"},
      {"ipc", "seccomp", Level::kFull, ""},
      {"pid", scoped ? "landlock" : "", Level::kPartial, "that a process exists can be seen"},
      {"seccomp", "seccomp", Level::kFull, ""},
      {"env", "", Level::kNone, "it is the process's own"},
      {"tty", "seccomp", Level::kPartial, "the terminal is the caller's"},
  };
}

}  // namespace

Result<std::vector<Enforcement>> ConfineSelf(const Policy& policy, const SandboxOptions& options) {
  CORDON_TRY(CheckPossible(policy));
  session::Request request{.policy = policy,
                           .workspace = options.workspace,
                           .argv = {"self"},
                           .environment = options.environment,
                           .backend = host::Backend::kLandlock};
  if (request.environment.empty()) request.environment = sys::Environment();
  // What can be required is not what the backend gives, but what is given here.
  request.policy.require.clear();
  if (policy.trust == Trust::kRequire) request.policy.trust = Trust::kAuto;
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(request));
  backend::SelfSpec self = backend::CompileSelf(plan);
  if (!self.hole.empty() && policy.on_unavailable != OnUnavailable::kWarn) {
    return base::Unsupported(
        base::Printable(self.hole) +
            " is denied but lies in a writable root, which Landlock "
            "alone cannot tell apart",
        "make less writable, lift that rule, or set on_unavailable = \"warn\"");
  }
  std::vector<Enforcement> enforced = EnforcedOn(plan, self.hole);
  CORDON_TRY(plan::CheckRequired(policy, enforced));
  spawn::Flat flat(self.spec);
  long result = spawn::RunHere(flat.spec());
  if (result < 0) {
    return base::SystemError("confine this process", static_cast<int>(-result),
                             Reason::kSetupFailed);
  }
  return enforced;
}

}  // namespace cordon
