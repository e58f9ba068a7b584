// Runs in: a process that confines itself. Pure.
#include "backend/linux/self.h"

#include <iterator>

#include "backend/linux/landlock_rules.h"
#include "backend/linux/rlimits.h"
#include "backend/linux/seccomp_programs.h"
#include "guard/path.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;

constexpr uint64_t kFileRights = uapi::kFsExecute | uapi::kFsWriteFile | uapi::kFsReadFile |
                                 uapi::kFsTruncate | uapi::kFsIoctlDev;
constexpr uint64_t kRead = uapi::kFsExecute | uapi::kFsReadFile | uapi::kFsReadDir;
constexpr uint64_t kNever = uapi::kFsMakeChar | uapi::kFsMakeBlock | uapi::kFsIoctlDev;

// What has fewer rights than the writable tree around it.
const Region* Narrower(const std::vector<Region>& regions, const Region& tree) {
  for (const Region& region : regions) {
    bool inside = region.path != tree.path && guard::IsInside(region.path, tree.path);
    bool less = region.source == RegionSource::kMask || region.rights == Rights::kReadOnly;
    if (inside && less) return &region;
  }
  return nullptr;
}

}  // namespace

SelfSpec CompileSelf(const plan::Plan& plan) {
  SelfSpec self;
  ChildSpec& spec = self.spec;
  LandlockRules& landlock = spec.landlock;
  uint64_t all = HandledFs(plan.landlock_abi);
  landlock.handled_fs = all;
  if (plan.landlock_abi >= 4 && plan.net.mode == NetMode::kNone) {
    landlock.handled_net = uapi::kNetBindTcp | uapi::kNetConnectTcp;
  }
  if (plan.landlock_abi >= 6) {
    landlock.scoped = uapi::kScopeAbstractUnixSocket | uapi::kScopeSignal;
  }
  auto add = [&](const std::string& path, uint64_t access, bool directory, bool optional) {
    landlock.rules.push_back({path, access & all & (directory ? ~0ull : kFileRights), optional});
  };
  for (const plan::Program& program : plan.programs) {
    add(program.path, kRead, program.directory, program.sibling);
  }
  for (const Region& region : plan.fs.regions) {
    if (region.source != RegionSource::kHost || region.rights != Rights::kReadWrite) continue;
    add(region.path, all & ~kNever, region.directory, false);
    const Region* closed = Narrower(plan.fs.regions, region);
    if (closed != nullptr && self.hole.empty()) self.hole = closed->path;
  }
  for (const char* device : {"null", "zero", "full", "random", "urandom", "tty"}) {
    add(std::string("/dev/") + device, kFileRights, false, true);
  }
  add("/proc", kRead, true, true);
  AddLimits(plan.limits, {}, 0, spec.steps);
  spec.steps.push_back({.op = Op::kDropCapabilities, .value = kBoundingSetMayStay});
  if (all != 0) spec.steps.push_back({.op = Op::kLandlock});
  spec.seccomp = plan.net.mode == NetMode::kOpen
                     ? SeccompProgram{kSeccompSelfOpen, std::size(kSeccompSelfOpen)}
                     : SeccompProgram{kSeccompSelfNone, std::size(kSeccompSelfNone)};
  spec.steps.push_back({.op = Op::kFilter});
  return self;
}

}  // namespace cordon::backend
