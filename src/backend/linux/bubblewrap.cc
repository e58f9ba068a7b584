// Runs in: supervisor. Pure.
#include "backend/linux/bubblewrap.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "backend/init_protocol.h"
#include "backend/linux/command.h"
#include "backend/linux/landlock_rules.h"
#include "backend/linux/net_ops.h"
#include "backend/linux/rlimits.h"
#include "backend/linux/seccomp_programs.h"
#include "base/strings.h"
#include "guard/path.h"
#include "host/bubblewrap.h"

namespace cordon::backend {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;

class Arguments {
 public:
  explicit Arguments(const plan::Plan& plan) : plan_(plan) {}

  std::vector<std::string> Make() {
    const Region& root = plan_.fs.regions.front();
    if (root.source == RegionSource::kHost) Bind(root);
    bool network = plan_.net.own_namespace();
    for (std::string& flag : host::BubblewrapFlags(
             plan_.bubblewrap, network ? host::OwnNetwork::kYes : host::OwnNetwork::kNo)) {
      words_.push_back(std::move(flag));
    }
    AddSystem();
    for (const Region& region : plan_.fs.regions) {
      if (region.path != "/") Mount(region);
    }
    for (const auto& [path, target] : plan_.fs.links) Link(path, target);
    // Last: what is closed or read-only from here on was a place for mount points until now.
    for (const std::string& path : closed_) Add({"--chmod", "0111", path});
    for (const std::string& path : sealed_) Add({"--remount-ro", path});
    if (root.source != RegionSource::kHost) Add({"--remount-ro", "/"});
    return std::move(words_);
  }

 private:
  void Add(std::initializer_list<std::string> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }

  void AddSystem() {
    Add({"--perms", "1777"});
    Tmpfs("/dev/shm", plan_.fs.temp_size);
    for (const std::string& device : plan_.devices) Add({"--dev-bind", device, device});
    Add({"--perms", "0500", "--file", std::to_string(kBubblewrapProgramFd),
         std::string(kStageProgram)});
    Add({"--remount-ro", "/dev"});
    // It makes no sysfs; the host's is shown, read-only.
    Add({"--ro-bind", "/sys", "/sys"});
    if (!plan_.bubblewrap.proc) return;
    for (const std::string& path : plan_.masked_system) Add({"--ro-bind", "/dev/null", path});
  }

  // Where it is setuid, it lets nobody choose a size.
  void Tmpfs(const std::string& path, uint64_t size) {
    // --perms, if any, comes before.
    if (!plan_.bubblewrap.setuid && size > 0) Add({"--size", std::to_string(size)});
    Add({"--tmpfs", path});
  }

  void Bind(const Region& region) {
    Add({region.rights == Rights::kReadOnly ? "--ro-bind" : "--bind", region.path, region.path});
  }

  bool HoldsAnother(const Region& region) const {
    return std::ranges::any_of(plan_.fs.regions, [&](const Region& other) {
      return other.path != region.path && guard::IsInside(other.path, region.path);
    });
  }

  void Mount(const Region& region) {
    MakeWay(region);
    if (region.source == RegionSource::kHost) {
      Bind(region);
    } else if (!region.directory) {
      // A device on a mount without devices cannot be opened.
      Add({"--ro-bind", "/dev/null", region.path});
    } else if (region.source == RegionSource::kPrivate && region.rights == Rights::kReadWrite) {
      Add({"--perms", "1777"});
      Tmpfs(region.path, plan_.fs.temp_size);
    } else {
      constexpr uint64_t kLittle = 4096;
      bool way = HoldsAnother(region);
      if (way) closed_.insert(region.path);
      Add({"--perms", way ? "0755" : "0000"});
      Tmpfs(region.path, way ? 0 : kLittle);
      sealed_.push_back(region.path);
    }
  }

  // Directories between a mask and what is allowed within it can be walked through, but
  // not listed.
  void MakeWay(const Region& region) {
    const Region* around = &plan_.fs.regions.front();
    for (const Region& other : plan_.fs.regions) {
      if (other.path != region.path && guard::IsInside(region.path, other.path) &&
          other.path.size() > around->path.size()) {
        around = &other;
      }
    }
    if (around->source != RegionSource::kMask) return;
    for (std::string_view way = guard::Parent(region.path); way != around->path;
         way = guard::Parent(way)) {
      closed_.insert(std::string(way));
    }
  }

  // A symbolic link that leads to a granted root is there inside as well, where
  // the directory that holds it is ours.
  void Link(const std::string& path, const std::string& target) {
    const Region* around = &plan_.fs.regions.front();
    for (const Region& region : plan_.fs.regions) {
      if (guard::IsInside(path, region.path) && region.path.size() > around->path.size()) {
        around = &region;
      }
    }
    if (around->source == RegionSource::kPrivate) Add({"--symlink", target, path});
  }

  const plan::Plan& plan_;
  std::vector<std::string> words_;
  std::set<std::string> closed_;
  std::vector<std::string> sealed_;
};

// Whatever bubblewrap followed or lost on the way: each region is there, is what the plan
// saw, and is closed as it should be.
void AddChecks(const plan::Plan& plan, std::vector<Step>& steps) {
  auto check = [&](const std::string& path, uint64_t how, Identity identity = {}) {
    steps.push_back({.op = Op::kCheckMount, .path = path, .value = how, .identity = identity});
  };
  check("/dev", kMountReadOnly);
  check("/sys", kMountReadOnly);
  if (plan.bubblewrap.proc) {
    for (const std::string& path : plan.masked_system) check(path, kMountReadOnly | kMountClosed);
  }
  for (const Region& region : plan.fs.regions) {
    uint64_t how = region.rights == Rights::kReadOnly ? kMountReadOnly : 0;
    bool closed = region.source == RegionSource::kMask ||
                  (region.source == RegionSource::kPrivate && how != 0 && region.path != "/");
    if (closed) how = kMountReadOnly | kMountClosed;
    bool host = region.source == RegionSource::kHost && region.path != "/";
    check(region.path, how, host ? Identity{region.device, region.inode} : Identity{});
  }
}

}  // namespace

ChildSpec CompileBubblewrap(const plan::Plan& plan, const host::Facts& facts) {
  ChildSpec spec;
  spec.bubblewrap = {plan.bubblewrap.program, Arguments(plan).Make()};
  std::vector<Step>& steps = spec.steps;
  steps.push_back({.op = Op::kJoinSession});
  steps.push_back({.op = Op::kUmask, .value = 022});
  AddChecks(plan, steps);
  if (plan.terminal != plan::Terminal::kNone) {
    steps.push_back({.op = Op::kTerminal, .path = "/dev/pts/ptmx", .value = plan.terminal_streams});
  }
  std::vector<Step> net = NetOps(plan.net);
  std::move(net.begin(), net.end(), std::back_inserter(steps));
  steps.push_back({.op = Op::kChdir, .path = plan.command.directory});
  AddLimits(plan.limits, plan.cgroup, plan.bubblewrap.setuid ? facts.user_tasks : 0, steps);
  steps.push_back({.op = Op::kDropCapabilities, .value = kBoundingSetMayStay});
  spec.landlock = MakeLandlockRules(plan);
  if (spec.landlock.handled_fs != 0) steps.push_back({.op = Op::kLandlock});
  spec.seccomp = {kSeccompProgram, std::size(kSeccompProgram)};
  steps.push_back({.op = Op::kSeccomp});
  steps.push_back({.op = Op::kExecInit});
  SetCommand(plan, spec);
  return spec;
}

}  // namespace cordon::backend
