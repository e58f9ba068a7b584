// Runs in: supervisor. Pure.
#include "backend/linux/landlock_rules.h"

#include "guard/path.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;

constexpr uint64_t kRead = uapi::kFsExecute | uapi::kFsReadFile | uapi::kFsReadDir;
constexpr uint64_t kFileRights = uapi::kFsExecute | uapi::kFsWriteFile | uapi::kFsReadFile |
                                 uapi::kFsTruncate | uapi::kFsIoctlDev;
// Device nodes are not made, on any tree.
constexpr uint64_t kNever = uapi::kFsMakeChar | uapi::kFsMakeBlock;

// Whether the region around `region` has a rule that grants as much already.
bool Covered(const std::vector<Region>& regions, const Region& region) {
  const Region* around = nullptr;
  for (const Region& other : regions) {
    if (other.path != region.path && guard::IsInside(region.path, other.path) &&
        (around == nullptr || other.path.size() > around->path.size())) {
      around = &other;
    }
  }
  if (around == nullptr || around->source == RegionSource::kMask) return false;
  if (around->source == RegionSource::kPrivate && around->path == "/") return false;
  return around->rights == Rights::kReadWrite || region.rights == Rights::kReadOnly;
}

}  // namespace

uint64_t HandledFs(int abi) {
  if (abi < 1) return 0;
  uint64_t handled = (uapi::kFsMakeSym << 1) - 1;  // ABI 1
  if (abi >= 2) handled |= uapi::kFsRefer;
  if (abi >= 3) handled |= uapi::kFsTruncate;
  if (abi >= 5) handled |= uapi::kFsIoctlDev;
  return handled;
}

LandlockRules MakeLandlockRules(const plan::Plan& plan) {
  LandlockRules landlock;
  if (plan.landlock_abi < 1) return landlock;
  uint64_t all = HandledFs(plan.landlock_abi);
  landlock.handled_fs = all;
  if (plan.landlock_abi >= 6) {
    landlock.scoped = uapi::kScopeAbstractUnixSocket | uapi::kScopeSignal;
  }
  uint64_t write = all & ~kNever & ~uapi::kFsIoctlDev;
  auto add = [&](const std::string& path, uint64_t access, bool directory) {
    landlock.rules.push_back({path, access & all & (directory ? ~0ull : kFileRights), false});
  };
  for (const Region& region : plan.fs.regions) {
    if (region.source == RegionSource::kMask || Covered(plan.fs.regions, region)) continue;
    if (region.source == RegionSource::kPrivate && region.path == "/") {
      add("/", uapi::kFsReadDir, true);
      continue;
    }
    add(region.path, region.rights == Rights::kReadWrite ? write : kRead, region.directory);
  }
  uint64_t device = kRead | uapi::kFsWriteFile | uapi::kFsTruncate | uapi::kFsIoctlDev;
  add("/dev", device, true);
  add("/dev/shm", write, true);
  // Writing in /proc would only be for oom_score_adj and its like; a command
  // that makes user namespaces writes their maps there.
  if (plan.bubblewrap.proc) {
    add("/proc", plan.nesting ? kRead | uapi::kFsWriteFile : kRead, true);
  }
  add("/sys", kRead, true);
  return landlock;
}

}  // namespace cordon::backend
