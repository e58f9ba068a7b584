#include "plan/regions.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "guard/path.h"
#include "plan/rules.h"

namespace cordon::plan {
namespace {

size_t Depth(std::string_view path) {
  return path == "/" ? 0 : static_cast<size_t>(std::ranges::count(path, '/'));
}

class RegionMaker {
 public:
  RegionMaker(const FsPlan& plan, const host::PathProbe& probe) : plan_(plan), probe_(probe) {}

  std::vector<Region> Make() {
    AddRoot();
    std::vector<const FsRule*> by_depth;
    for (const FsRule& rule : plan_.rules) by_depth.push_back(&rule);
    std::ranges::stable_sort(by_depth, {}, [](const FsRule* rule) { return Depth(rule->path); });
    for (const FsRule* rule : by_depth) AddFor(*rule);
    AddPins();
    std::ranges::stable_sort(regions_, {}, [](const Region& r) { return Depth(r.path); });
    return std::move(regions_);
  }

 private:
  void AddRoot() {
    RuleMatch match = MatchRules(plan_.rules, "/");
    host::PathInfo info = probe_.Inspect("/");
    RegionSource source = match.read != nullptr ? RegionSource::kHost : RegionSource::kPrivate;
    Rights rights = match.write != nullptr ? Rights::kReadWrite : Rights::kReadOnly;
    regions_.push_back({"/", source, rights, true, info.device, info.inode});
    // One private directory stands for /tmp and /var/tmp each.
    if (plan_.temp == TempMode::kShared) return;
    for (const char* path : {"/tmp", "/var/tmp"}) {
      if (source == RegionSource::kHost && probe_.Inspect(path).canonical != path) continue;
      Rights temp = plan_.temp == TempMode::kPrivate ? Rights::kReadWrite : Rights::kReadOnly;
      regions_.push_back({path, RegionSource::kPrivate, temp, true, 0, 0});
    }
  }

  void AddFor(const FsRule& rule) {
    // The sandbox has its own /dev, /proc and /sys, read-only but for what a
    // command needs; rules for the host's are about those.
    for (const char* system : {"/dev", "/proc", "/sys"}) {
      if (guard::IsInside(rule.path, system)) return;
    }
    const Region& around = *RegionOf(regions_, rule.path);
    bool private_around = around.source == RegionSource::kPrivate;
    // Rules wider than a private directory do not reach into it, rules for the
    // private directory itself are about it, and a denied path in it is not
    // there anyway.
    if (private_around && around.path != "/" && around.path == rule.path) return;
    bool grants = rule.kind == RuleKind::kRead || rule.kind == RuleKind::kWrite ||
                  rule.kind == RuleKind::kAllowWithin;
    Region wanted = WantedAt(rule);
    if (private_around && (!grants || wanted.source == RegionSource::kMask)) return;
    // In a read-only place the owner cannot open it up either.
    if (rule.closed && wanted.source == RegionSource::kMask && around.rights == Rights::kReadOnly) {
      return;
    }
    if (wanted.source == around.source && wanted.rights == around.rights &&
        around.path != rule.path) {
      return;
    }
    if (around.path == rule.path) {
      if (around.source == wanted.source && around.rights == wanted.rights) return;
      std::erase_if(regions_, [&](const Region& r) { return r.path == rule.path; });
    }
    regions_.push_back(std::move(wanted));
  }

  Region WantedAt(const FsRule& rule) const {
    RuleMatch match = MatchRules(plan_.rules, rule.path);
    Region region{rule.path,      RegionSource::kHost, Rights::kReadOnly,
                  rule.directory, rule.device,         rule.inode};
    if (match.read == nullptr) {
      region.source = RegionSource::kMask;
    } else if (match.write != nullptr && match.denied_write == nullptr) {
      region.rights = Rights::kReadWrite;
    }
    return region;
  }

  // A mount point cannot be renamed, but its parent can: every directory
  // between a writable region and a protected one inside it becomes a mount
  // point of its own.
  void AddPins() {
    std::vector<Region> pins;
    for (const Region& region : regions_) {
      for (std::string_view path = guard::Parent(region.path); path != "/";
           path = guard::Parent(path)) {
        const Region* around = RegionOf(regions_, path);
        if (around->path == path || around->rights != Rights::kReadWrite ||
            around->source != RegionSource::kHost) {
          break;
        }
        if (std::ranges::any_of(pins, [&](const Region& pin) { return pin.path == path; })) break;
        host::PathInfo info = probe_.Inspect(std::string(path));
        pins.push_back({std::string(path), RegionSource::kHost, Rights::kReadWrite, true,
                        info.device, info.inode});
      }
    }
    regions_.insert(regions_.end(), pins.begin(), pins.end());
  }

  const FsPlan& plan_;
  const host::PathProbe& probe_;
  std::vector<Region> regions_;
};

}  // namespace

std::vector<Region> MakeRegions(const FsPlan& plan, const host::PathProbe& probe) {
  return RegionMaker(plan, probe).Make();
}

Status CheckFloorUncovered(const FsPlan& plan) {
  for (const FsRule& rule : plan.rules) {
    if (rule.kind != RuleKind::kFloor) continue;
    const Region* region = RegionOf(plan.regions, rule.path);
    if (region->source == RegionSource::kHost && region->rights == Rights::kReadWrite) {
      return Error{.code = Code::kInternal,
                   .reason = Reason::kFloorCovered,
                   .message = rule.path + " would be writable by the region " + region->path};
    }
  }
  return {};
}

}  // namespace cordon::plan
