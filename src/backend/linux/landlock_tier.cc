// Runs in: supervisor. Pure.
#include "backend/linux/landlock_tier.h"

#include "backend/init_protocol.h"
#include "backend/linux/command.h"
#include "backend/linux/landlock_rules.h"
#include "backend/linux/rlimits.h"
#include "backend/linux/seccomp_programs.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

// `limits`: those that the kernel keeps.
ChildSpec Start(const plan::Plan& plan, const LimitPolicy& limits, uint64_t others) {
  ChildSpec spec;
  std::vector<Step>& steps = spec.steps;
  steps.push_back({.op = Op::kJoinSession});
  steps.push_back({.op = Op::kUmask, .value = 022});
  if (plan.terminal != plan::Terminal::kNone) {
    steps.push_back({.op = Op::kTerminal, .path = "/dev/ptmx", .value = plan.terminal_streams});
  }
  steps.push_back({.op = Op::kChdir, .path = plan.command.directory});
  AddLimits(limits, plan.cgroup, others, steps);
  spec.init_options = kInitOptionSubreaper;
  SetCommand(plan, spec);
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

template <size_t AnySize, size_t CountedSize>
SeccompProgram Either(const sock_filter (&any)[AnySize], const sock_filter (&counted)[CountedSize],
                      bool count) {
  return count ? SeccompProgram{counted, CountedSize} : SeccompProgram{any, AnySize};
}

SeccompProgram Filter(NetMode mode, const LimitPolicy& limits) {
  bool count = limits.processes.has_value();
  switch (mode) {
    case NetMode::kNone:
      break;
    case NetMode::kProxy:
    case NetMode::kPublic:
      return Either(kSeccompLandlockProxy, kSeccompCountedProxy, count);
    case NetMode::kOpen:
      return Either(kSeccompLandlockOpen, kSeccompCountedOpen, count);
  }
  return Either(kSeccompLandlockNone, kSeccompCountedNone, count);
}

// Ports that the host lends, or that it reaches, need TCP too.
NetMode SocketsOf(const plan::NetPlan& net) {
  bool ports = !net.host_ports.empty() || !net.publish.empty();
  return net.mode == NetMode::kNone && ports ? NetMode::kProxy : net.mode;
}

}  // namespace

ChildSpec CompileLandlock(const plan::Plan& plan) {
  // The kernel would count all processes of the user, and none of root's: the broker
  // counts the sandbox's.
  LimitPolicy limits = plan.limits;
  limits.processes.reset();
  ChildSpec spec = Start(plan, limits, /*others=*/0);
  spec.landlock = ProgramRules(plan);
  if (spec.landlock.scoped != 0) spec.init_options += kInitOptionScoped;
  spec.seccomp = Filter(SocketsOf(plan.net), plan.limits);
  // Only a privileged process can empty the bounding set; without new privileges
  // it bounds nothing.
  spec.steps.push_back({.op = Op::kDropCapabilities, .value = kBoundingSetMayStay});
  if (spec.landlock.handled_fs != 0) spec.steps.push_back({.op = Op::kLandlock});
  spec.steps.push_back({.op = Op::kSeccomp});
  spec.steps.push_back({.op = Op::kExecInit});
  return spec;
}

ChildSpec CompileNone(const plan::Plan& plan, const host::Facts& facts) {
  ChildSpec spec = Start(plan, plan.limits, facts.user_tasks);
  spec.steps.push_back({.op = Op::kExecInit});
  return spec;
}

}  // namespace cordon::backend
