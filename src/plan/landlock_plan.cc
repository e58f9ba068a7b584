#include "plan/landlock_plan.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "guard/path.h"
#include "plan/rules.h"

namespace cordon::plan {
namespace {

size_t Depth(const Region& region) {
  return region.path == "/" ? 0 : static_cast<size_t>(std::ranges::count(region.path, '/'));
}

// Rules of one Landlock ruleset unite, so a tree that holds something unreadable is
// granted as the list of what lies beside it. In a writable tree that would leave
// out the programs that the command makes itself; such a tree is granted whole,
// and only opening, which the broker does, keeps what is denied there.
class ProgramFinder {
 public:
  ProgramFinder(const std::vector<Region>& regions, const host::PathProbe& probe)
      : regions_(regions), probe_(probe) {}

  std::vector<Program> Find() {
    for (const Region& region : regions_) {
      if (region.source != RegionSource::kHost) continue;
      if (region.rights == Rights::kReadWrite || !HoldsDenied(region.path)) {
        Add({region.path, region.directory, /*sibling=*/false});
      } else {
        AddBeside(region.path);
      }
    }
    return std::move(programs_);
  }

 private:
  bool HoldsDenied(const std::string& path) const {
    if (path == "/") return true;  // /proc, /sys and /dev at least
    return std::ranges::any_of(regions_, [&](const Region& region) {
      return region.source != RegionSource::kHost && guard::IsInside(region.path, path);
    });
  }

  // What a wider tree grants already needs no rule of its own.
  void Add(Program program) {
    bool known = std::ranges::any_of(programs_, [&](const Program& other) {
      return other.directory && guard::IsInside(program.path, other.path);
    });
    if (!known) programs_.push_back(std::move(program));
  }

  void AddBeside(const std::string& directory) {
    Result<std::vector<host::DirectoryEntry>> entries = probe_.List(directory);
    if (!entries) return;
    for (const host::DirectoryEntry& entry : *entries) {
      std::string path = directory == "/" ? "/" + entry.name : directory + "/" + entry.name;
      for (const char* system : {"/dev", "/proc", "/sys"}) {
        if (path == system) path.clear();
      }
      // A region of its own is looked at for itself.
      bool own = path.empty() || std::ranges::any_of(regions_, [&](const Region& region) {
                   return region.path == path;
                 });
      if (own) continue;
      if (!entry.directory) {
        AddFile(path);
      } else if (HoldsDenied(path)) {
        AddBeside(path);
      } else {
        Add({path, /*directory=*/true, /*sibling=*/true});
      }
    }
  }

  void AddFile(const std::string& path) {
    host::PathInfo info = probe_.Inspect(path);
    bool program = info.type == host::FileType::kRegular && (info.mode & 0111) != 0;
    if (program && info.canonical == path) Add({path, /*directory=*/false, /*sibling=*/true});
  }

  const std::vector<Region>& regions_;
  const host::PathProbe& probe_;
  std::vector<Program> programs_;
};

void AddOwnDirectory(const host::PathProbe& probe, const std::string& path, FsPlan& fs) {
  host::PathInfo info = probe.Inspect(path);
  if (!info.directory()) return;
  fs.regions.push_back(
      {path, RegionSource::kHost, Rights::kReadWrite, true, info.device, info.inode});
}

}  // namespace

Status CheckWithoutNamespaces(const Policy& policy) {
  auto refuse = [](const char* key, const char* why) {
    return base::Unsupported(std::string(key) + " cannot be had by the landlock backend: " + why,
                             "leave the key out, or use a host where user namespaces can be made");
  };
  if (policy.exec.nesting) return refuse("exec.nesting", "there are no namespaces to nest");
  if (!policy.net.credentials.empty()) {
    return refuse("net.credential", "other processes of this host could use the proxy");
  }
  return {};
}

void LeaveNamespaces(const host::PathProbe& probe, Plan& plan) {
  for (Region& region : plan.fs.regions) {
    if (region.source != RegionSource::kPrivate) continue;
    region.source = RegionSource::kMask;
    region.rights = Rights::kReadOnly;
  }
  if (!plan.private_directory.empty()) {
    if (plan.fs.temp == TempMode::kPrivate) {
      AddOwnDirectory(probe, plan.private_directory + "/tmp", plan.fs);
    }
    AddOwnDirectory(probe, plan.private_directory + "/shm", plan.fs);
    std::ranges::stable_sort(plan.fs.regions, {}, Depth);
  }
  plan.programs = ProgramFinder(plan.fs.regions, probe).Find();
}

std::vector<Enforcement> EnforcedByLandlock(const Plan& plan, FsInputs::Floor floor) {
  bool floor_on = floor == FsInputs::Floor::kOn;
  bool open = plan.net.mode == NetMode::kOpen;
  bool scoped = plan.landlock_abi >= 6;
  const char* net = open                     ? ""
                    : !plan.net.proxied()    ? "seccomp"
                    : plan.landlock_abi >= 4 ? "broker, landlock, proxy"
                                             : "broker, proxy";
  return {
      {"fs.read", "broker, landlock", Level::kPartial, std::string(host::kLandlockReads)},
      {"fs.write", "broker, landlock", Level::kFull, ""},
      {"fs.floor", floor_on ? "broker" : "", floor_on ? Level::kFull : Level::kNone,
       floor_on ? "" : "--no-floor"},
      {"net", net, open ? Level::kNone : Level::kFull, open ? "net.mode is \"open\"" : ""},
      {"unix", "broker, seccomp", Level::kFull, ""},
      {"ipc", "seccomp", Level::kFull, ""},
      {"pid", scoped ? "landlock, broker" : "broker", Level::kPartial,
       std::string(host::kLandlockProcesses)},
      {"seccomp", "seccomp", Level::kFull, ""},
      {"env", "clean environment", Level::kFull, ""},
      {"tty", plan.terminal == Terminal::kNone ? "new session" : "own pseudo-terminal",
       Level::kFull, ""},
  };
}

std::vector<Enforcement> EnforcedByNothing(const Plan& plan) {
  std::vector<Enforcement> list;
  for (const char* feature :
       {"fs.read", "fs.write", "fs.floor", "net", "unix", "ipc", "pid", "seccomp"}) {
    list.push_back({feature, "", Level::kNone, "backend \"none\""});
  }
  list.push_back({"env", "clean environment", Level::kFull, ""});
  list.push_back({"tty", plan.terminal == Terminal::kNone ? "new session" : "own pseudo-terminal",
                  Level::kFull, ""});
  return list;
}

}  // namespace cordon::plan
