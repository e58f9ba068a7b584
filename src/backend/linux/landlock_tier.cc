// Runs in: supervisor. Pure.
#include "backend/linux/landlock_tier.h"

#include <algorithm>
#include <iterator>

#include "backend/init_protocol.h"
#include "backend/linux/landlock_rules.h"
#include "backend/linux/rlimits.h"
#include "backend/linux/seccomp_programs.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

// Threads of the supervisor that are not there yet when the user's are counted: the
// broker's, the proxy's.
uint64_t OwnThreads(const plan::Plan& plan) { return plan.net.proxied() ? 2 : 1; }

// What the kernel counts besides the sandbox. Others of the user may end during the
// run, and what they leave is no more room: a little less is given from the start.
uint64_t Others(const plan::Plan& plan, const host::Facts& facts) {
  constexpr uint64_t kMostMargin = 16;
  uint64_t margin = std::min(plan.limits.processes.value_or(0) / 16, kMostMargin);
  uint64_t others = facts.user_tasks + OwnThreads(plan);
  return others > margin ? others - margin : 0;
}

ChildSpec Start(const plan::Plan& plan, const host::Facts& facts) {
  ChildSpec spec;
  std::vector<Step>& steps = spec.steps;
  steps.push_back({.op = Op::kJoinSession});
  steps.push_back({.op = Op::kUmask, .value = 022});
  if (plan.terminal != plan::Terminal::kNone) {
    steps.push_back({.op = Op::kTerminal, .path = "/dev/ptmx", .value = plan.terminal_streams});
  }
  steps.push_back({.op = Op::kChdir, .path = plan.command.directory});
  AddLimits(plan.limits, Others(plan, facts), steps);
  spec.init_options = kInitOptionSubreaper;
  if (plan.terminal == plan::Terminal::kControlling) {
    spec.init_options += kInitOptionControllingTerminal;
  }
  spec.argv = plan.command.argv;
  spec.program = plan.command.argv[0];
  spec.environment = plan.environment;
  return spec;
}

LandlockRules ProgramRules(const plan::Plan& plan) {
  LandlockRules landlock;
  landlock.handled_fs = HandledFs(plan.landlock_abi);
  if (plan.landlock_abi >= 4 && plan.net.mode != NetMode::kOpen) {
    landlock.handled_net = uapi::kNetBindTcp | uapi::kNetConnectTcp;
  }
  if (plan.landlock_abi >= 6) {
    landlock.scoped = uapi::kScopeAbstractUnixSocket | uapi::kScopeSignal;
  }
  // To execute, the kernel reads.
  constexpr uint64_t kExecute = uapi::kFsExecute | uapi::kFsReadFile;
  for (const plan::Program& program : plan.programs) {
    landlock.rules.push_back({program.path, kExecute, program.sibling});
  }
  return landlock;
}

SeccompProgram Filter(NetMode mode) {
  switch (mode) {
    case NetMode::kNone:
      return {kSeccompLandlockNone, std::size(kSeccompLandlockNone)};
    case NetMode::kProxy:
    case NetMode::kPublic:
      return {kSeccompLandlockProxy, std::size(kSeccompLandlockProxy)};
    case NetMode::kOpen:
      return {kSeccompLandlockOpen, std::size(kSeccompLandlockOpen)};
  }
  return {kSeccompLandlockNone, std::size(kSeccompLandlockNone)};
}

// Ports that the host lends, or that it reaches, need TCP too.
NetMode SocketsOf(const plan::NetPlan& net) {
  bool ports = !net.host_ports.empty() || !net.publish.empty();
  return net.mode == NetMode::kNone && ports ? NetMode::kProxy : net.mode;
}

}  // namespace

ChildSpec CompileLandlock(const plan::Plan& plan, const host::Facts& facts) {
  ChildSpec spec = Start(plan, facts);
  spec.landlock = ProgramRules(plan);
  if (spec.landlock.scoped != 0) spec.init_options += kInitOptionScoped;
  spec.seccomp = Filter(SocketsOf(plan.net));
  // Only a privileged process can empty the bounding set; without new privileges
  // it bounds nothing.
  spec.steps.push_back({.op = Op::kDropCapabilities, .value = kBoundingSetMayStay});
  if (spec.landlock.handled_fs != 0) spec.steps.push_back({.op = Op::kLandlock});
  spec.steps.push_back({.op = Op::kSeccomp});
  spec.steps.push_back({.op = Op::kExecInit});
  return spec;
}

ChildSpec CompileNone(const plan::Plan& plan, const host::Facts& facts) {
  ChildSpec spec = Start(plan, facts);
  spec.steps.push_back({.op = Op::kExecInit});
  return spec;
}

}  // namespace cordon::backend
