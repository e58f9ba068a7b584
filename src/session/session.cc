#include "session/session.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>

#include "backend/linux/bubblewrap.h"
#include "backend/linux/landlock_tier.h"
#include "backend/linux/namespaces.h"
#include "backend/test_hooks.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "host/bubblewrap.h"
#include "host/doctor.h"
#include "host/permission.h"
#include "host/real_paths.h"
#include "plan/floor.h"
#include "session/audit_trail.h"
#include "session/egress.h"
#include "session/external_proxy.h"
#include "session/interception.h"
#include "session/without.h"
#include "spawn/watcher.h"
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

// What was found or made on the host before the plan.
struct Ground {
  host::Backend backend = host::Backend::kNamespaces;
  host::Bubblewrap bubblewrap;
  std::string directory;
  plan::CgroupLimits cgroup;
  int proxy_port = plan::kProxyPort;
};

Result<plan::Plan> MakePlanFor(const Request& request, Caches caches, const Ground& ground) {
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
       .backend = ground.backend,
       .bubblewrap = ground.bubblewrap,
       .private_directory = ground.directory,
       .cgroup = ground.cgroup,
       .proxy_port = ground.proxy_port,
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

// The clone if it has these namespaces, or another one.
std::unique_ptr<spawn::Clone> Fitting(std::unique_ptr<spawn::Clone> clone, uint64_t namespaces) {
  if (clone && clone->namespaces() == namespaces) return clone;
  return std::make_unique<spawn::Clone>(namespaces);
}

// From the plan to the outcome. `made`: sockets of the host's network, in place of
// those that a namespace would have.
Result<Outcome> CarryOut(const Request& request, plan::Plan& plan,
                         std::unique_ptr<spawn::Clone> clone, std::vector<sys::UniqueFd> made,
                         const spawn::SuperviseOptions& options) {
  CORDON_ASSIGN_OR_RETURN(std::optional<ExternalProcess> external,
                          StartExternal(request.environment, plan));
  CORDON_ASSIGN_OR_RETURN(std::optional<Interception> interception,
                          StartInterception(request.environment, plan));
  CORDON_ASSIGN_OR_RETURN(backend::ChildSpec spec, Compile(plan));
  LeaveOut(spec);
  clone = Fitting(std::move(clone), spec.namespaces);
  audit::Log* log = request.audit.get();
  Egress egress(plan.net, log);
  if (interception) egress.LookInto(*interception);
  if (external) egress.LeadToExternal(external->port);
  spawn::SuperviseOptions complete = options;
  if (egress.needed()) {
    complete.on_sockets = [&](std::vector<sys::UniqueFd> sockets, int pidfd) -> Status {
      bool inside = plan.net.own_namespace();
      CORDON_TRY(egress.Start(std::move(inside ? sockets : made), pidfd));
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
  return outcome;
}

std::shared_ptr<RunCgroup> MakeCgroup(const LimitPolicy& limits) {
  bool off = backend::TestHookOff("cgroup") || backend::TestHookOff("limits");
  return off ? nullptr : RunCgroup::Make(limits);
}

// By one backend.
Result<Outcome> RunOn(Ground ground, std::vector<sys::UniqueFd> made, const Request& request,
                      spawn::SuperviseOptions options, std::unique_ptr<spawn::Clone> clone) {
  std::shared_ptr<RunCgroup> cgroup = request.cgroup;
  if (!cgroup) cgroup = MakeCgroup(request.policy.limits);
  if (cgroup) {
    ground.cgroup = cgroup->holds();
    options.cgroup = {cgroup->entries(), [cgroup] { return cgroup->MemoryKills(); }};
  }
  bool namespaces = ground.backend == host::Backend::kNamespaces;
  clone =
      Fitting(std::move(clone), namespaces ? backend::NamespacesFor(request.policy.net.mode) : 0);
  Result<plan::Plan> plan = MakePlanFor(request, Caches::kMake, ground);
  if (plan) LeaveOut(request, *plan);
  audit::Log* log = request.audit.get();
  if (log != nullptr) {
    CORDON_TRY(log->Record(StartOf(request, ground.backend, plan)));
  }
  if (!plan) return std::move(plan).error();
  return CarryOut(request, *plan, std::move(clone), std::move(made), options);
}

Result<Outcome> RunWithoutNamespaces(host::Backend backend, const Request& request,
                                     const spawn::SuperviseOptions& options) {
  CORDON_ASSIGN_OR_RETURN(spawn::Watcher watcher, spawn::Watcher::Start());
  Ground ground{.backend = backend, .directory = watcher.directory()};
  std::vector<sys::UniqueFd> sockets;
  if (NeedsProxy(request.policy.net)) {
    CORDON_ASSIGN_OR_RETURN(sys::UniqueFd listener, ListenOnLoopback(0));
    CORDON_ASSIGN_OR_RETURN(ground.proxy_port, PortOf(listener));
    sockets.push_back(std::move(listener));
  }
  spawn::SuperviseOptions watched = options;
  watched.on_launch = [&](pid_t init) { watcher.Watch(init); };
  return RunOn(ground, std::move(sockets), request, watched, nullptr);
}

Result<Outcome> RunByBubblewrap(const Request& request, const spawn::SuperviseOptions& options) {
  Ground ground{.backend = host::Backend::kBubblewrap};
  CORDON_ASSIGN_OR_RETURN(ground.bubblewrap, host::ProbeBubblewrap());
  Result<Outcome> outcome = RunOn(ground, {}, request, options, nullptr);
  if (!outcome && outcome.error().reason == Reason::kSetupFailed && outcome.error().hint.empty()) {
    outcome.error().hint = host::BubblewrapCause(outcome.error().message).remedy;
  }
  return outcome;
}

Result<Outcome> RunBy(host::Backend backend, const Request& request,
                      const spawn::SuperviseOptions& options, std::unique_ptr<spawn::Clone> clone) {
  if (backend == host::Backend::kBubblewrap) return RunByBubblewrap(request, options);
  if (backend != host::Backend::kNamespaces) {
    return RunWithoutNamespaces(backend, request, options);
  }
  return RunOn({}, {}, request, options, std::move(clone));
}

// What is said where the host does not let a sandbox be made.
bool CannotBeMade(const Error& error) {
  return error.reason == Reason::kUserNamespaces || error.reason == Reason::kSetupFailed;
}

// The best one that this host can have, if that is not namespaces of our own.
std::optional<host::Backend> ChooseOther() {
  host::Backend best = host::Choose(host::Backends(host::ExamineForChoice()));
  bool other = best != host::Backend::kNamespaces && best != host::Backend::kNone;
  return other ? std::optional(best) : std::nullopt;
}

// Trying is the quickest way to know: a launch that fails has run nothing, and only
// then is it worth the time to ask what this host can do. What fails after the launch
// is no matter of backends, and this process may be sealed by then.
Result<Outcome> RunByBest(const Request& request, const spawn::SuperviseOptions& options,
                          std::unique_ptr<spawn::Clone> clone) {
  if (request.backend) {
    Result<Outcome> forced = RunBy(*request.backend, request, options, std::move(clone));
    bool denied = !forced && forced.error().reason == Reason::kUserNamespaces;
    return denied ? WithCause(std::move(forced).error()) : std::move(forced);
  }
  bool launched = false;
  spawn::SuperviseOptions noticed = options;
  noticed.on_launch = [&](pid_t) { launched = true; };
  Result<Outcome> outcome = RunBy(host::Backend::kNamespaces, request, noticed, std::move(clone));
  if (outcome || launched || !CannotBeMade(outcome.error())) return outcome;
  if (std::optional<host::Backend> other = ChooseOther()) {
    return RunBy(*other, request, options, nullptr);
  }
  if (outcome.error().reason != Reason::kUserNamespaces) return outcome;
  return WithCause(std::move(outcome).error());
}

// Root without namespaces: nothing can be id-mapped, so the files say who to be.
Status LeaveRootBehind(const Request& request, const std::optional<Unprivileged>& target) {
  if (target) return ChangeUser(*target);
  struct stat status;
  if (stat(request.workspace.c_str(), &status) == 0 && status.st_uid != 0) {
    return ChangeUser({status.st_uid, status.st_gid});
  }
  return GiveUpPowers(Keep::kNothing);
}

}  // namespace

std::string StateDirectory(const std::map<std::string, std::string>& environment) {
  auto found = environment.find("XDG_STATE_HOME");
  bool set = found != environment.end() && found->second.starts_with('/');
  return set ? guard::NormalizePath(found->second + "/cordon") : std::string();
}

Result<plan::Plan> Prepare(const Request& request) {
  Ground ground;
  if (request.backend) {
    ground.backend = *request.backend;
  } else if (!host::ExamineUserNamespaces().available) {
    ground.backend = ChooseOther().value_or(ground.backend);
  }
  if (ground.backend == host::Backend::kBubblewrap) {
    CORDON_ASSIGN_OR_RETURN(ground.bubblewrap, host::ProbeBubblewrap());
  }
  ground.cgroup =
      request.cgroup ? request.cgroup->holds() : RunCgroup::Foresee(request.policy.limits);
  return MakePlanFor(request, Caches::kLookOnly, ground);
}

Result<backend::ChildSpec> Compile(const plan::Plan& plan) {
  if (plan.backend == host::Backend::kNamespaces) return backend::CompileNamespaces(plan);
  if (plan.backend == host::Backend::kLandlock) return backend::CompileLandlock(plan);
  host::Facts facts = host::ProbeFacts();
  if (plan.limits.processes) facts.user_tasks = host::CountUserTasks();
  if (plan.backend == host::Backend::kBubblewrap) return backend::CompileBubblewrap(plan, facts);
  return backend::CompileNone(plan, facts);
}

std::unique_ptr<spawn::Clone> BeginClone() {
  if (geteuid() == 0) return nullptr;
  return std::make_unique<spawn::Clone>(backend::NamespacesFor(NetMode::kNone));
}

Result<Outcome> RunOnce(const Request& request, const spawn::SuperviseOptions& options,
                        std::unique_ptr<spawn::Clone> clone) {
  if (request.policy.audit.log.empty()) return RunByBest(request, options, std::move(clone));
  Request seen = request;
  CORDON_TRY(OpenAudit(seen));
  audit::Log& log = *seen.audit;
  Result<Outcome> outcome = RunByBest(seen, options, std::move(clone));
  std::ignore = log.Record(EndOf(outcome, log.lost()));
  if (outcome && log.lost() > 0) {
    outcome->audit_problem = std::to_string(log.lost()) + " events lost: " + log.problem();
  }
  return outcome;
}

Status LeaveRoot(Request& request, const std::optional<Unprivileged>& target) {
  if (backend::TestHookOff("root")) return {};
  if (request.backend == host::Backend::kNone) return {};
  request.cgroup = MakeCgroup(request.policy.limits);
  if (request.backend == host::Backend::kLandlock) return LeaveRootBehind(request, target);
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
  if (everything) return GiveUpPowers(Keep::kMapping);
  Status left = BecomeUnprivileged(target.value_or(Unprivileged{}), std::move(directories));
  if (left) return left;
  if (left.error().code == Code::kUnsupported) return GiveUpPowers(Keep::kMapping);
  if (left.error().code != Code::kSystem) return left;
  if (!request.backend) request.backend = ChooseOther();
  bool wrapped = request.backend == host::Backend::kBubblewrap;
  if (!wrapped && request.backend != host::Backend::kLandlock) return left;
  return LeaveRootBehind(request, target);
}

}  // namespace cordon::session
