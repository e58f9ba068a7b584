// Runs in: supervisor. Pure.
#include "backend/linux/namespaces.h"

#include <sched.h>
#include <sys/resource.h>

#include <iterator>

#include "backend/init_protocol.h"
#include "backend/linux/landlock_rules.h"
#include "backend/linux/mount_ops.h"
#include "backend/linux/net_ops.h"
#include "backend/linux/seccomp_programs.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

void AddIdentity(const plan::Plan& plan, std::vector<Step>& steps) {
  // One id each, mapped to itself. An unprivileged process may map its groups
  // only after it has given up setgroups.
  std::string uid = std::to_string(plan.uid);
  std::string gid = std::to_string(plan.gid);
  steps.push_back({.op = Op::kWriteFile, .path = "/proc/self/setgroups", .data = "deny"});
  steps.push_back(
      {.op = Op::kWriteFile, .path = "/proc/self/uid_map", .data = uid + " " + uid + " 1"});
  steps.push_back(
      {.op = Op::kWriteFile, .path = "/proc/self/gid_map", .data = gid + " " + gid + " 1"});
}

void AddLimits(const LimitPolicy& limits, std::vector<Step>& steps) {
  auto add = [&](uint64_t resource, uint64_t value) {
    steps.push_back({.op = Op::kLimit, .value = resource, .value2 = value});
  };
  add(RLIMIT_CORE, 0);
  // The sum over the tree is watched; this is for a watch that is kept from it.
  if (limits.cpu_ms) add(RLIMIT_CPU, (*limits.cpu_ms + 999) / 1000 + 1);
  // Counted within the sandbox's own user namespace, so that the user's other
  // processes do not matter. Init is one of them.
  if (limits.processes) add(RLIMIT_NPROC, *limits.processes + 1);
  if (limits.open_files) add(RLIMIT_NOFILE, *limits.open_files);
  if (limits.file_size) add(RLIMIT_FSIZE, *limits.file_size);
  // What is used is watched over the whole tree; this stops one process from
  // outrunning the watch. It counts stacks of threads, used or not, and so must
  // leave room. (Address space would be the wrong measure altogether: node and
  // Go reserve far more than they use.)
  constexpr uint64_t kRoom = 4;
  if (limits.memory) add(RLIMIT_DATA, *limits.memory * kRoom);
}

}  // namespace

uint64_t NamespacesFor(NetMode mode) {
  uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                   uapi::kCloneNewcgroup;
  if (mode != NetMode::kOpen) flags |= CLONE_NEWNET;
  return flags;
}

Result<ChildSpec> CompileNamespaces(const plan::Plan& plan) {
  ChildSpec spec;
  spec.namespaces = NamespacesFor(plan.net.mode);
  std::vector<Step>& steps = spec.steps;
  AddIdentity(plan, steps);
  steps.push_back({.op = Op::kJoinSession});
  steps.push_back({.op = Op::kUmask, .value = 0});
  CORDON_ASSIGN_OR_RETURN(std::vector<Step> mounts, MountOps(plan));
  std::move(mounts.begin(), mounts.end(), std::back_inserter(steps));
  if (plan.terminal != plan::Terminal::kNone) {
    steps.push_back({.op = Op::kTerminal, .value = plan.terminal_streams});
  }
  std::vector<Step> net = NetOps(plan.net);
  std::move(net.begin(), net.end(), std::back_inserter(steps));
  if (!plan.nesting) {
    steps.push_back({.op = Op::kForbidUserNamespaces,
                     .path = "/proc/sys/user/max_user_namespaces",
                     .data = "0"});
  }
  steps.push_back({.op = Op::kChdir, .path = plan.command.directory});
  steps.push_back({.op = Op::kUmask, .value = 022});
  AddLimits(plan.limits, steps);
  steps.push_back({.op = Op::kDropCapabilities});
  spec.landlock = MakeLandlockRules(plan);
  if (spec.landlock.handled_fs != 0) steps.push_back({.op = Op::kLandlock});
  spec.seccomp = plan.nesting
                     ? SeccompProgram{kSeccompProgramNesting, std::size(kSeccompProgramNesting)}
                     : SeccompProgram{kSeccompProgram, std::size(kSeccompProgram)};
  steps.push_back({.op = Op::kSeccomp});
  steps.push_back({.op = Op::kExecInit});
  if (plan.terminal == plan::Terminal::kControlling) {
    spec.init_options += kInitOptionControllingTerminal;
  }
  spec.argv = plan.command.argv;
  spec.program = plan.command.argv[0];
  spec.environment = plan.environment;
  return spec;
}

}  // namespace cordon::backend
