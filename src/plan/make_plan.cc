#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "plan/audit_log.h"
#include "plan/bubblewrap_plan.h"
#include "plan/environment.h"
#include "plan/landlock_plan.h"
#include "plan/plan.h"
#include "plan/required.h"

namespace cordon::plan {
namespace {

// Keys that are understood but whose mechanism is not built yet: a run that
// relies on one is refused, never run without it.
Status CheckSupported(const Policy& policy) {
  auto refuse = [](const char* key, const char* what) {
    return base::Unsupported(std::string(key) + ": " + what + " is not supported yet",
                             "remove the key, or wait for the release that brings it");
  };
  if (!policy.exec.deny.empty()) return refuse("exec.deny", "denying programs");
  if (!policy.exec.excluded.empty()) {
    return base::Unsupported("exec.excluded: `cordon run` runs nothing outside",
                             "it is for programs that use the library (docs/api.md)");
  }
  if (policy.workspace_provider != WorkspaceProvider::kDirect) {
    return refuse("workspace.provider", "a provider other than \"direct\"");
  }
  if (policy.audit.denials == DenialDetail::kExact) {
    return refuse("audit.denials", "\"exact\"");
  }
  if (policy.leaks.scan) return refuse("leaks.scan", "scanning for secrets");
  return {};
}

// Kernel internals. Most of them only root can read.
std::vector<std::string> MaskedSystem(const PlanInputs& in) {
  std::vector<std::string> candidates = {"/proc/kallsyms", "/proc/keys", "/proc/sched_debug",
                                         "/proc/latency_stats"};
  if (in.facts.uid == 0) {
    for (const char* path :
         {"/proc/kcore", "/proc/kmsg", "/proc/timer_list", "/proc/vmallocinfo", "/proc/slabinfo",
          "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/sysrq-trigger"}) {
      candidates.emplace_back(path);
    }
  }
  std::erase_if(candidates,
                [&](const std::string& path) { return !in.probe.Inspect(path).exists(); });
  return candidates;
}

std::vector<Enforcement> EnforcedByNamespaces(const Plan& plan, const PlanInputs& in) {
  bool landlock = plan.landlock_abi > 0;
  std::string fs = landlock ? "mount namespace, landlock" : "mount namespace";
  bool floor = in.floor == FsInputs::Floor::kOn;
  bool net = plan.net.own_namespace();
  bool scoped = plan.landlock_abi >= 6;
  std::vector<Enforcement> list = {
      {"fs.read", fs, Level::kFull, ""},
      {"fs.write", fs, Level::kFull, ""},
      {"fs.floor", floor ? "mount namespace, broker" : "", floor ? Level::kFull : Level::kNone,
       floor ? "" : "--no-floor"},
      {"net",
       !net                 ? ""
       : plan.net.proxied() ? "network namespace, proxy"
                            : "network namespace",
       net ? Level::kFull : Level::kNone, net ? "" : "net.mode is \"open\""},
      {"unix", "broker, seccomp", net || scoped ? Level::kFull : Level::kPartial,
       net || scoped ? "" : "abstract sockets need Landlock ABI 6 or a network namespace"},
      {"ipc", "ipc namespace", Level::kFull, ""},
      {"pid", "pid namespace", Level::kFull, ""},
      {"seccomp", "seccomp", plan.nesting ? Level::kPartial : Level::kFull,
       plan.nesting ? "exec.nesting lets the command make user namespaces" : ""},
      {"env", "clean environment", Level::kFull, ""},
      {"tty", plan.terminal == Terminal::kNone ? "new session" : "own pseudo-terminal",
       Level::kFull, ""},
  };
  return list;
}

// By backend, in one order.
std::vector<Enforcement> Boundary(const Plan& plan, const PlanInputs& in) {
  switch (plan.backend) {
    case host::Backend::kNamespaces:
    case host::Backend::kBubblewrap:
      return EnforcedByNamespaces(plan, in);
    case host::Backend::kLandlock:
      return EnforcedByLandlock(plan, in.floor);
    case host::Backend::kNone:
      return EnforcedByNothing(plan);
  }
  return {};
}

std::vector<Enforcement> Enforced(const Plan& plan, const PlanInputs& in) {
  std::vector<Enforcement> list = Boundary(plan, in);
  if (plan.backend != host::Backend::kNone && plan.net.proxied() && !plan.net.upstream.empty()) {
    list[3].level = Level::kPartial;
    list[3].note = "names go to a parent proxy, which chooses their addresses";
  }
  if (in.policy.env.mode == EnvMode::kInherit) {
    list[8].mechanism = "inherited environment less the dangerous names";
    list[8].level = Level::kPartial;
    list[8].note = "env.mode is \"inherit\"";
  }
  bool root = plan.uid == 0;
  if (root && plan.backend != host::Backend::kNone) {
    for (size_t i : {0, 1}) {
      list[i].level = Level::kPartial;
      std::string& note = list[i].note;
      if (!note.empty()) note += "; ";
      note += "the command is uid 0 without capabilities: its files cannot be id-mapped";
    }
  }
  bool namespaces = host::HasNamespaces(plan.backend);
  bool own_count = namespaces && !plan.bubblewrap.setuid;
  const LimitPolicy& limits = plan.limits;
  list.push_back(OfLimit("limits.cpu", limits.cpu_ms, "rlimit, watching the tree", Level::kPartial,
                         "the sum over processes is sampled"));
  list.push_back(
      plan.cgroup.memory
          ? OfLimit("limits.memory", limits.memory, "cgroup", Level::kFull, "")
          : OfLimit("limits.memory", limits.memory, "rlimit per process, watching the tree",
                    Level::kPartial,
                    "the sum over processes is sampled; unmapped shared memory is not seen"));
  bool counted = plan.backend == host::Backend::kLandlock;
  bool full = counted || plan.cgroup.processes || (own_count && !root);
  list.push_back(OfLimit(
      "limits.processes", limits.processes,
      plan.cgroup.processes ? "cgroup"
      : counted             ? "broker"
      : root                ? "watching the tree"
      : own_count           ? "rlimit in the user namespace"
                            : "rlimit of the user, watching the tree",
      full ? Level::kFull : Level::kPartial,
      full   ? ""
      : root ? "the kernel does not count root's"
             : "the kernel counts all of the user's, and their number is taken at the start"));
  list.push_back(OfLimit("limits.files", limits.open_files, "rlimit", Level::kFull, ""));
  bool temp = plan.fs.temp == TempMode::kPrivate;
  list.push_back({"limits.disk",
                  !temp        ? ""
                  : namespaces ? "tmpfs size"
                               : "watching the run's own directory",
                  temp ? Level::kPartial : Level::kNone, "writable roots have no quota"});
  if (plan.backend == host::Backend::kBubblewrap) EnforceByBubblewrap(plan, list);
  return list;
}

Status CheckCommand(const Command& command, const FsPlan& fs) {
  if (command.argv.empty() || command.argv[0].empty()) {
    return base::InvalidArgument(Reason::kCommandInvalid, "no command given");
  }
  for (const std::string& word : command.argv) {
    if (word.find('\0') != std::string::npos) {
      return base::InvalidArgument(Reason::kCommandInvalid, "a word of the command holds a NUL");
    }
  }
  Verdict verdict = Decide(fs, Access::kRead, command.directory);
  if (!verdict.allowed) {
    return base::InvalidArgument(Reason::kCommandInvalid, "the working directory " +
                                                              base::Printable(command.directory) +
                                                              " may not be read: " + verdict.rule);
  }
  return {};
}

// Whether the command can change the way to `path` on the host.
bool LiesInWritable(const FsPlan& fs, std::string_view path) {
  return std::ranges::any_of(fs.regions, [&](const Region& region) {
    return region.source == RegionSource::kHost && region.rights == Rights::kReadWrite &&
           region.path != path && guard::IsInside(path, region.path);
  });
}

Status CheckLandlock(const PlanInputs& in) {
  if (in.backend == host::Backend::kNone || in.facts.landlock_abi > 0) return {};
  bool alone = in.backend == host::Backend::kLandlock;
  if (!alone && in.policy.on_unavailable == OnUnavailable::kWarn) return {};
  return Error{.code = Code::kUnsupported,
               .reason = Reason::kRequirementUnmet,
               .message = alone ? "this kernel has no Landlock, which the landlock backend needs"
                                : "this kernel has no Landlock, the second layer of the boundary",
               .hint =
                   "boot with lsm=landlock,… on Linux 5.13 or later, or set "
                   "on_unavailable = \"warn\""};
}

std::string TempInside(const PlanInputs& in) {
  return in.private_directory.empty() ? "/tmp" : in.private_directory + "/tmp";
}

}  // namespace

Result<Plan> MakePlan(const PlanInputs& in) {
  CORDON_TRY(CheckSupported(in.policy));
  CORDON_TRY(CheckLandlock(in));
  if (in.backend == host::Backend::kLandlock) CORDON_TRY(CheckWithoutNamespaces(in.policy));
  if (in.backend == host::Backend::kBubblewrap) CORDON_TRY(CheckBubblewrap(in));
  Plan plan;
  plan.backend = in.backend;
  plan.bubblewrap = in.bubblewrap;
  plan.private_directory = in.private_directory;
  CORDON_ASSIGN_OR_RETURN(plan.net, PlanNet({.policy = in.policy,
                                             .probe = in.probe,
                                             .environment = in.environment,
                                             .ipv6 = in.facts.ipv6,
                                             .proxy_port = in.proxy_port}));
  bool namespaces = host::HasNamespaces(in.backend);
  plan.net.host_network = !namespaces;
  if (in.backend == host::Backend::kBubblewrap) LeaveToBubblewrap(plan);
  FsPolicy fs = in.policy.fs;
  // A socket that may be connected to must be there to be found.
  for (const SocketGrant& socket : plan.net.unix_sockets) {
    PathRule rule{socket.path, false, /*optional=*/true, {"net.unix_sockets", 0}};
    fs.read.push_back(rule);
    fs.allow_read_within_deny.push_back(std::move(rule));
  }
  for (PathRule& secret : SecretFiles(plan.net)) fs.deny_read.push_back(std::move(secret));
  const AuditLogInputs audit{in.policy, in.probe, in.facts.home, in.state_directory};
  std::string log;
  if (!in.policy.audit.log.empty()) {
    CORDON_ASSIGN_OR_RETURN(log, AuditLogPlace(audit));
    fs.deny_read.push_back({log, false, /*optional=*/true, {"audit.log", 0}});
  }
  std::string cache_inside;
  if (fs.caches == CacheMode::kPrivate) {
    cache_inside = in.cache_directory;
    if (!cache_inside.empty()) {
      fs.write.push_back({cache_inside, false, /*optional=*/true, {"fs.caches", 0}});
    } else if (fs.temp == TempMode::kPrivate) {
      cache_inside = TempInside(in) + "/.cache";
    }
  }
  CORDON_ASSIGN_OR_RETURN(plan.fs, PlanFs({.policy = fs,
                                           .probe = in.probe,
                                           .workspace = in.workspace,
                                           .home = in.facts.home,
                                           .state = in.state_directory,
                                           .memory_limit = in.policy.limits.memory.value_or(0),
                                           .floor = in.floor}));
  for (SocketGrant& socket : plan.net.unix_sockets) {
    socket.pinned = LiesInWritable(plan.fs, socket.path);
  }
  if (!log.empty() && !IsOwnState(audit, log) && LiesInWritable(plan.fs, log)) {
    return AuditLogInReach(in.policy, log);
  }
  if (!namespaces) LeaveNamespaces(in.probe, plan);
  CORDON_TRY(CheckCommand(in.command, plan.fs));
  CORDON_TRY(PlanTrust(plan.fs, in.probe, in.environment, plan.net));
  plan.command = in.command;
  std::map<std::string, std::string> proxy = ProxyVariables(plan.net);
  std::string ssh = SshCommand(plan.net, in.program);
  bool seen = !ssh.empty() && Decide(plan.fs, Access::kRead, in.program).allowed;
  if (seen) proxy["GIT_SSH_COMMAND"] = std::move(ssh);
  Environment environment = MakeEnvironment({.policy = in.policy.env,
                                             .caller = in.environment,
                                             .directory = in.command.directory,
                                             .cache_directory = cache_inside,
                                             .temp = fs.temp,
                                             .temp_directory = TempInside(in),
                                             .proxy = std::move(proxy)});
  plan.environment = std::move(environment.variables);
  plan.dropped_environment = std::move(environment.dropped);
  plan.chosen_environment = std::move(environment.chosen);
  if (namespaces && plan.net.routed)
    plan.files = NameServiceFiles(plan.net, plan.fs, in.probe, in.facts.hostname);
  plan.nesting = in.policy.exec.nesting;
  plan.limits = in.policy.limits;
  plan.cgroup = in.cgroup;
  plan.terminal = in.terminal;
  plan.terminal_streams = in.terminal_streams;
  plan.landlock_abi = in.facts.landlock_abi;
  plan.uid = in.facts.uid;
  plan.gid = in.facts.gid;
  for (const PathRule& device : in.policy.fs.devices) plan.devices.push_back(device.path);
  plan.masked_system = MaskedSystem(in);
  plan.enforcement = Enforced(plan, in);
  CORDON_TRY(CheckRequired(in.policy, plan.enforcement));
  return plan;
}

}  // namespace cordon::plan
