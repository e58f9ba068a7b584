#include "session/session.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>

#include "backend/linux/namespaces.h"
#include "backend/test_hooks.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "host/doctor.h"
#include "host/permission.h"
#include "host/real_paths.h"
#include "plan/floor.h"
#include "session/audit_trail.h"
#include "session/egress.h"
#include "session/external_proxy.h"
#include "session/interception.h"
#include "session/without.h"
#include "sys/process.h"

namespace cordon::session {
namespace {

// A workspace is made writable as a whole; nobody means these by standing in them.
constexpr std::array kTooWide = {"/",      "/bin", "/boot", "/dev",  "/etc",    "/home", "/lib",
                                 "/lib64", "/opt", "/proc", "/root", "/run",    "/sbin", "/srv",
                                 "/sys",   "/tmp", "/usr",  "/var",  "/var/tmp"};

Result<std::string> Workspace(const Request& request, const std::string& home,
                              const host::PathProbe& probe) {
  host::PathInfo info = probe.Inspect(request.workspace);
  if (!info.directory()) {
    return base::InvalidArgument(
        Reason::kWorkspaceInvalid,
        "the workspace " + base::Printable(request.workspace) + " is not a directory");
  }
  bool wide =
      info.canonical == home || std::ranges::find(kTooWide, info.canonical) != kTooWide.end();
  if (wide && request.workspace_chosen == Request::Chosen::kImplied) {
    return base::InvalidArgument(
        Reason::kWorkspaceTooWide,
        base::Printable(info.canonical) + " as the workspace would be writable as a whole",
        "go to a project directory, or name it with --workspace if you mean it");
  }
  return info.canonical;
}

// Caches live where caches live. A home without ~/.cache is left as it is; the
// run's caches are private to it then.
std::string CacheDirectory(const std::string& home, const std::string& workspace,
                           const host::PathProbe& probe) {
  if (home.empty()) return {};
  host::PathInfo cache = probe.Inspect(home + "/.cache");
  if (!cache.directory() || access(cache.canonical.c_str(), W_OK) != 0) return {};
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: names a directory, protects nothing
  for (char byte : workspace) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  char digits[17];
  snprintf(digits, sizeof(digits), "%016lx", hash);
  return cache.canonical + "/cordon/" + std::string(guard::BaseName(workspace)) + "-" + digits;
}

bool ReachableByOthers(const host::PathProbe& probe, const std::string& path) {
  for (std::string_view step = path; step != "/"; step = guard::Parent(step)) {
    host::PathInfo info = probe.Inspect(std::string(step));
    if (info.exists() && (info.mode & S_IXOTH) == 0 && info.directory()) return false;
  }
  return true;
}

// Its real path, if this user may execute it.
std::string Executable(const std::string& program, const host::PathProbe& probe) {
  host::PathInfo info = probe.Inspect(program);
  bool runs = info.type == host::FileType::kRegular &&
              host::CheckPermission(info.canonical, host::Permission::kExecute);
  return runs ? info.canonical : std::string();
}

enum class Caches { kLookOnly, kMake };

Result<plan::Plan> MakePlanFor(const Request& request, Caches caches) {
  host::RealPaths probe;
  host::Facts facts = host::ProbeFacts();
  if (auto home = request.environment.find("HOME"); home != request.environment.end()) {
    // Most of what a policy denies in a home is not there; one look tells.
    static_cast<void>(probe.List(home->second));
    facts.home = probe.Inspect(home->second).canonical;
  }
  CORDON_ASSIGN_OR_RETURN(std::string workspace, Workspace(request, facts.home, probe));
  std::string cache;
  if (request.policy.fs.caches == CacheMode::kPrivate) {
    cache = CacheDirectory(facts.home, workspace, probe);
    if (caches == Caches::kMake && !cache.empty() && !sys::MakeDirectories(cache)) cache.clear();
  }
  std::string directory = request.directory.empty() ? workspace : request.directory;
  host::PathInfo inside = probe.Inspect(directory);
  if (!inside.directory()) {
    return base::InvalidArgument(
        Reason::kCommandInvalid,
        "the working directory " + base::Printable(directory) + " is not a directory");
  }
  return plan::MakePlan(
      {.policy = request.policy,
       .facts = facts,
       .probe = probe,
       .command = {request.argv, inside.canonical},
       .workspace = workspace,
       .environment = request.environment,
       .terminal = request.terminal,
       .terminal_streams = request.terminal_streams,
       .floor = backend::TestHookOff("floor") ? plan::FsInputs::Floor::kOff : request.floor,
       .cache_directory = cache,
       .state_directory = StateDirectory(request.environment),
       .program = Executable(request.program, probe)});
}

// The launch knows only the errno; why the host denies user namespaces is found
// out when it is needed.
Error WithCause(Error error) {
  host::Finding finding = host::ExamineUserNamespaces();
  if (finding.available) return error;
  error.message += ": " + finding.detail;
  error.hint = std::move(finding.remedy);
  return error;
}

// From the plan to the outcome.
Result<Outcome> CarryOut(const Request& request, plan::Plan& plan,
                         std::unique_ptr<spawn::Clone> clone,
                         const spawn::SuperviseOptions& options) {
  CORDON_ASSIGN_OR_RETURN(std::optional<ExternalProcess> external,
                          StartExternal(request.environment, plan));
  CORDON_ASSIGN_OR_RETURN(std::optional<Interception> interception,
                          StartInterception(request.environment, plan));
  CORDON_ASSIGN_OR_RETURN(backend::ChildSpec spec, backend::CompileNamespaces(plan));
  LeaveOut(spec);
  if (clone->namespaces() != spec.namespaces) {
    clone = std::make_unique<spawn::Clone>(spec.namespaces);
  }
  audit::Log* log = request.audit.get();
  Egress egress(plan.net, log);
  if (interception) egress.LookInto(*interception);
  if (external) egress.LeadToExternal(external->port);
  spawn::SuperviseOptions complete = options;
  if (egress.needed()) {
    complete.on_sockets = [&](std::vector<sys::UniqueFd> sockets, int pidfd) -> Status {
      CORDON_TRY(egress.Start(std::move(sockets), pidfd));
      if (request.net_news) egress.Follow(request.net_news);
      return {};
    };
  }
  if (egress.captures_any()) {
    complete.before_connect = [&](const std::string& address) { egress.CaptureAt(address); };
  }
  if (log != nullptr) {
    complete.on_violation = [log](const Violation& denied) { std::ignore = log->Record(denied); };
  }
  Result<Outcome> outcome = spawn::Supervise(plan, spec, *clone, complete);
  std::vector<Violation> denied = egress.Finish();
  if (outcome) {
    outcome->violations.insert(outcome->violations.end(), denied.begin(), denied.end());
  }
  if (!outcome && outcome.error().reason == Reason::kUserNamespaces) {
    return WithCause(std::move(outcome).error());
  }
  return outcome;
}

std::unique_ptr<spawn::Clone> BeginClone(const Request& request) {
  return std::make_unique<spawn::Clone>(backend::NamespacesFor(request.policy.net.mode));
}

Result<Outcome> RunUnseen(const Request& request, const spawn::SuperviseOptions& options) {
  auto clone = BeginClone(request);
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, MakePlanFor(request, Caches::kMake));
  LeaveOut(request, plan);
  return CarryOut(request, plan, std::move(clone), options);
}

Result<Outcome> RunSeen(const Request& request, const spawn::SuperviseOptions& options) {
  audit::Log& log = *request.audit;
  auto clone = BeginClone(request);
  Result<plan::Plan> plan = MakePlanFor(request, Caches::kMake);
  if (plan) LeaveOut(request, *plan);
  CORDON_TRY(log.Record(StartOf(request, plan ? plan->enforcement : std::vector<Enforcement>())));
  Result<Outcome> outcome =
      plan ? CarryOut(request, *plan, std::move(clone), options) : std::move(plan).error();
  std::ignore = log.Record(EndOf(outcome, log.lost()));
  if (outcome && log.lost() > 0) {
    outcome->audit_problem = std::to_string(log.lost()) + " events lost: " + log.problem();
  }
  return outcome;
}

}  // namespace

std::string StateDirectory(const std::map<std::string, std::string>& environment) {
  auto found = environment.find("XDG_STATE_HOME");
  bool set = found != environment.end() && found->second.starts_with('/');
  return set ? guard::NormalizePath(found->second + "/cordon") : std::string();
}

Result<plan::Plan> Prepare(const Request& request) {
  return MakePlanFor(request, Caches::kLookOnly);
}

Result<Outcome> RunOnce(const Request& request, const spawn::SuperviseOptions& options) {
  if (request.policy.audit.log.empty()) return RunUnseen(request, options);
  Request seen = request;
  CORDON_TRY(OpenAudit(seen));
  return RunSeen(seen, options);
}

Status LeaveRoot(const Request& request, const Unprivileged& target) {
  if (backend::TestHookOff("root")) return {};
  host::RealPaths probe;
  std::vector<std::string> directories;
  auto add = [&](const std::string& path) {
    host::PathInfo info = probe.Inspect(path);
    if (info.directory() && info.canonical != "/") directories.push_back(info.canonical);
  };
  for (const PathRule& rule : request.policy.fs.write) add(rule.path);
  for (const std::string& path : plan::LinkedGitDirectories(probe, request.workspace)) add(path);
  // Roots that only their owner can reach, root's own home among them.
  for (const PathRule& rule : request.policy.fs.read) {
    if (!ReachableByOthers(probe, rule.path)) add(rule.path);
  }
  if (auto home = request.environment.find("HOME"); home != request.environment.end()) {
    add(home->second);
  }
  std::ranges::sort(directories);
  auto repeated = std::ranges::unique(directories);
  directories.erase(repeated.begin(), repeated.end());
  bool everything = std::ranges::any_of(request.policy.fs.write,
                                        [](const PathRule& rule) { return rule.path == "/"; });
  if (everything) return GiveUpPowers();
  Status left = BecomeUnprivileged(target, std::move(directories));
  if (left || left.error().code != Code::kUnsupported) return left;
  return GiveUpPowers();
}

}  // namespace cordon::session
