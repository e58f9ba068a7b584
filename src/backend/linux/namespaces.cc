// Runs in: supervisor. Pure.
#include "backend/linux/namespaces.h"

#include <sched.h>

#include <iterator>

#include "backend/linux/command.h"
#include "backend/linux/landlock_rules.h"
#include "backend/linux/mount_ops.h"
#include "backend/linux/net_ops.h"
#include "backend/linux/rlimits.h"
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
    steps.push_back({.op = Op::kTerminal, .path = "/dev/pts/ptmx", .value = plan.terminal_streams});
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
  // Processes are counted within the sandbox's own user namespace, so that the
  // user's others do not matter.
  AddLimits(plan.limits, plan.cgroup, /*others=*/0, steps);
  steps.push_back({.op = Op::kDropCapabilities});
  spec.landlock = MakeLandlockRules(plan);
  if (spec.landlock.handled_fs != 0) steps.push_back({.op = Op::kLandlock});
  spec.seccomp = plan.nesting
                     ? SeccompProgram{kSeccompProgramNesting, std::size(kSeccompProgramNesting)}
                     : SeccompProgram{kSeccompProgram, std::size(kSeccompProgram)};
  steps.push_back({.op = Op::kSeccomp});
  steps.push_back({.op = Op::kExecInit});
  SetCommand(plan, spec);
  return spec;
}

}  // namespace cordon::backend
