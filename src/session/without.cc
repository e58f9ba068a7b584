#include "session/without.h"

#ifdef CORDON_TEST_HOOKS
#include <sched.h>

#include <algorithm>

#include "backend/init_protocol.h"
#include "backend/test_hooks.h"
#include "sys/uapi.h"

namespace cordon::session {
namespace {

using backend::ChildSpec;
using backend::Op;
using backend::Step;
using backend::TestHookOff;

void Erase(ChildSpec& spec, Op op) {
  std::erase_if(spec.steps, [&](const Step& step) { return step.op == op; });
}

void MakeWritable(ChildSpec& spec) {
  for (Step& step : spec.steps) {
    if (step.op == Op::kAttributes || step.op == Op::kSealRoot) {
      step.value &= ~uint64_t{uapi::kMountAttrRdonly};
    }
  }
}

// The host's /dev over the sandbox's own.
void ShowDevices(ChildSpec& spec) {
  constexpr int kSlot = backend::kMaxSlots - 1;
  auto last = std::ranges::find_if(spec.steps.rbegin(), spec.steps.rend(),
                                   [](const Step& step) { return step.op == Op::kAttach; });
  spec.steps.insert(last.base(), {.op = Op::kAttach, .slot = kSlot, .path = "/dev"});
  auto first = std::ranges::find(spec.steps, Op::kOpenTree, &Step::op);
  spec.steps.insert(first, {.op = Op::kOpenTree, .slot = kSlot, .path = "/dev"});
}

}  // namespace

void LeaveOut(const Request& request, plan::Plan& plan) {
  if (TestHookOff("landlock")) plan.landlock_abi = 0;
  if (TestHookOff("names")) plan.fs.names.clear();
  if (TestHookOff("masks")) {
    for (plan::Region& region : plan.fs.regions) {
      if (region.source == plan::RegionSource::kMask) region.source = plan::RegionSource::kHost;
    }
  }
  if (TestHookOff("env")) {
    plan.environment.clear();
    for (const auto& [name, value] : request.environment) {
      plan.environment.push_back(name + "=" + value);
    }
  }
  if (TestHookOff("limits")) {
    plan.limits = {.wall_ms = plan.limits.wall_ms, .output = plan.limits.output};
  }
  if (TestHookOff("temp_size")) plan.fs.temp_size = uint64_t{1} << 40;
  if (TestHookOff("terminal")) plan.terminal = plan::Terminal::kNone;
}

void LeaveOut(ChildSpec& spec) {
  if (TestHookOff("read_only")) MakeWritable(spec);
  if (TestHookOff("dev")) ShowDevices(spec);
  if (TestHookOff("seccomp")) Erase(spec, Op::kSeccomp);
  if (TestHookOff("userns")) Erase(spec, Op::kForbidUserNamespaces);
  if (TestHookOff("capabilities")) Erase(spec, Op::kDropCapabilities);
  if (TestHookOff("net")) {
    spec.namespaces &= ~uint64_t{CLONE_NEWNET};
    Erase(spec, Op::kLoopback);
    Erase(spec, Op::kNetlink);
    Erase(spec, Op::kListen);
  }
  if (TestHookOff("ipc")) spec.namespaces &= ~uint64_t{CLONE_NEWIPC};
  if (TestHookOff("pid")) spec.namespaces &= ~uint64_t{CLONE_NEWPID};
  if (TestHookOff("init")) spec.init_options += backend::kInitOptionUnprotected;
  if (TestHookOff("session")) {
    Erase(spec, Op::kJoinSession);
    spec.init_options += backend::kInitOptionSameSession;
  }
}

}  // namespace cordon::session
#endif
