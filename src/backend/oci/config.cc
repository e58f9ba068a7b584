// Runs in: supervisor. Pure.
#include "backend/oci/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/oci/seccomp.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/env.h"
#include "guard/path.h"
#include "plan/required.h"
#include "plan/rules.h"

namespace cordon::backend {
namespace {

using Json = nlohmann::ordered_json;
using plan::Region;
using plan::RegionSource;
using plan::Rights;

constexpr char kRootfs[] = "rootfs";
constexpr char kMasks[] = "masks";

Status CheckCarried(const plan::Plan& plan) {
  auto refuse = [](const char* what) {
    return base::Unsupported(std::string("an OCI bundle does not carry ") + what,
                             "run it with `cordon run`, or set net.mode to \"none\" or \"open\"");
  };
  if (plan.net.proxied()) return refuse("net.mode = \"proxy\" or \"public\"");
  if (!plan.net.host_ports.empty()) return refuse("net.host_ports");
  if (!plan.net.publish.empty()) return refuse("net.publish");
  if (!plan.net.unix_sockets.empty()) return refuse("net.unix_sockets");
  return {};
}

class Maker {
 public:
  Maker(const plan::Plan& plan, const host::PathProbe& probe, const OciOptions& options)
      : plan_(plan), probe_(probe), options_(options) {}

  Result<OciBundle> Make() {
    Directory(kRootfs, 0755);
    Directory(kMasks, 0711);
    SystemMounts();
    if (plan_.fs.regions.front().source == RegionSource::kHost) CORDON_TRY(HostRoot());
    for (const Region& region : plan_.fs.regions) {
      if (region.path != "/") AddRegion(region);
    }
    for (const auto& [path, target] : plan_.fs.links) Link(path, target);
    for (const std::string& path : plan_.devices) Bind(path, path, {"bind", "rw", "nosuid"});
    Json config = Config();
    Text(options_.bundle);
    if (!valid_) {
      return base::Unsupported(
          "a path, argument or variable is not UTF-8, which a bundle cannot say");
    }
    made_.entries.push_back({.kind = BundleEntry::Kind::kFile,
                             .path = "config.json",
                             .data = config.dump(2) + "\n",
                             .mode = 0644});
    made_.enforcement = Enforced();
    return std::move(made_);
  }

 private:
  std::string Text(const std::string& bytes) {
    valid_ = valid_ && base::IsValidUtf8(bytes);
    return bytes;
  }

  void Entry(BundleEntry::Kind kind, const std::string& path, std::string data, uint32_t mode) {
    if (known_.insert(path).second) made_.entries.push_back({kind, path, std::move(data), mode});
  }
  void Directory(const std::string& path, uint32_t mode) {
    Entry(BundleEntry::Kind::kDirectory, path, "", mode);
  }

  // mkdir -p of a mount point in one of the bundle's own directories.
  // The mode is for what lies there until it is covered, and for runc, which gives
  // a tmpfs the mode of its mount point.
  void MountPoint(const std::string& base, std::string_view below, bool directory) {
    const Region* region = plan::RegionOf(plan_.fs.regions, below);
    bool open = base == kRootfs && region != nullptr && region->path == below &&
                region->source == RegionSource::kPrivate && region->rights == Rights::kReadWrite;
    std::string made = base;
    std::vector<std::string> parts = base::Split(below.substr(1), '/');
    for (size_t i = 0; i < parts.size(); ++i) {
      made += "/" + parts[i];
      bool file = i + 1 == parts.size() && !directory;
      if (file) {
        Entry(BundleEntry::Kind::kFile, made, "", 0644);
      } else {
        bool last = i + 1 == parts.size();
        Directory(made, last && open ? 01777 : base == kRootfs ? 0755 : 0711);
      }
    }
  }

  void Mount(const std::string& path, const char* type, const std::string& source, Json options) {
    mounts_.push_back({{"destination", Text(path)},
                       {"type", type},
                       {"source", Text(source)},
                       {"options", std::move(options)}});
  }
  void Bind(const std::string& path, const std::string& source, Json options) {
    Mount(path, "bind", source, std::move(options));
  }
  void Tmpfs(const std::string& path, const char* mode, uint64_t size) {
    Mount(path, "tmpfs", "tmpfs",
          {"nosuid", "nodev", std::string("mode=") + mode, "size=" + std::to_string(size)});
  }

  void SystemMounts() {
    for (const char* name : {"/proc", "/sys", "/dev"}) MountPoint(kRootfs, name, true);
    Mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"});
    Tmpfs("/dev", "755", 64 * 1024);
    mounts_.back()["options"].erase(1);  // its devices are the engine's to make
    Mount("/dev/pts", "devpts", "devpts",
          {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"});
    Tmpfs("/dev/shm", "1777", plan_.fs.temp_size);
    if (plan_.net.own_namespace()) {
      Mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"});
    } else {
      Bind("/sys", "/sys", {"rbind", "rro", "nosuid", "noexec", "nodev"});
    }
  }

  // Recursive: a file system mounted further below is no exception. (crun takes no
  // recursive option for a file.)
  void BindHost(const std::string& path, Rights rights, bool directory) {
    bool read_only = rights == Rights::kReadOnly;
    if (directory) {
      Bind(path, path, {"rbind", read_only ? "rro" : "rw", "rnosuid", "rnodev", "rprivate"});
    } else {
      Bind(path, path, {"bind", read_only ? "ro" : "rw", "nosuid", "nodev", "rprivate"});
    }
  }

  // No engine takes "/" itself for its root: all that is in it is mounted.
  Status HostRoot() {
    CORDON_ASSIGN_OR_RETURN(std::vector<host::DirectoryEntry> entries, probe_.List("/"));
    std::ranges::sort(entries, {}, &host::DirectoryEntry::name);
    for (const host::DirectoryEntry& entry : entries) {
      std::string path = "/" + entry.name;
      if (path == "/proc" || path == "/sys" || path == "/dev") continue;
      host::Trail trail = probe_.Follow("/", entry.name);
      if (!trail.links.empty()) {
        Entry(BundleEntry::Kind::kLink, kRootfs + path, Text(trail.links[0].second), 0777);
        continue;
      }
      host::PathInfo info = probe_.Inspect(path);
      bool plain = entry.directory || info.type == host::FileType::kRegular;
      if (!plain) continue;  // a socket or device at the root
      if (info.closed) {     // nor could an engine of this user's mount it
        Directory(kRootfs + path, 0);
        continue;
      }
      MountPoint(kRootfs, path, entry.directory);
      if (!HasRegion(path)) BindHost(path, plan_.fs.regions.front().rights, entry.directory);
    }
    return {};
  }

  bool HasRegion(std::string_view path) const {
    return std::ranges::any_of(plan_.fs.regions, [&](const Region& r) { return r.path == path; });
  }

  const Region& Around(const Region& region) const {
    const Region* around = plan::RegionOf(plan_.fs.regions, guard::Parent(region.path));
    return around == nullptr ? plan_.fs.regions.front() : *around;
  }

  bool HoldsAnother(const Region& region) const {
    return std::ranges::any_of(plan_.fs.regions, [&](const Region& other) {
      return other.path != region.path && guard::IsInside(other.path, region.path);
    });
  }

  // The bundle's own directory behind a private or masked one; empty: the host's.
  std::string Backing(const Region& region) const {
    if (region.path == "/") return region.source == RegionSource::kHost ? "" : kRootfs;
    if (region.source != RegionSource::kMask || !region.directory) return "";
    size_t index = static_cast<size_t>(&region - plan_.fs.regions.data());
    return HoldsAnother(region) ? std::string(kMasks) + "/" + std::to_string(index) : "";
  }

  void AddRegion(const Region& region) {
    const Region& around = Around(region);
    if (std::string base = Backing(around); !base.empty()) {
      std::string below = region.path.substr(around.path == "/" ? 0 : around.path.size());
      MountPoint(base, below, region.directory);
    }
    if (region.source == RegionSource::kHost) {
      BindHost(region.path, region.rights, region.directory);
    } else if (region.source == RegionSource::kPrivate) {
      bool writable = region.rights == Rights::kReadWrite;
      Tmpfs(region.path, writable ? "1777" : "0", writable ? plan_.fs.temp_size : 4096);
      if (!writable) mounts_.back()["options"].push_back("ro");
    } else {
      Mask(region);
    }
  }

  // Mode 0 and read-only: whoever owns it cannot change that inside.
  void Mask(const Region& region) {
    std::string source = Backing(region);
    if (!source.empty()) {
      Directory(source, 0111);
    } else if (region.directory) {
      source = std::string(kMasks) + "/directory";
      Directory(source, 0);
    } else {
      source = std::string(kMasks) + "/file";
      Entry(BundleEntry::Kind::kFile, source, "", 0);
    }
    Bind(region.path, options_.bundle + "/" + source,
         {"bind", "ro", "nosuid", "nodev", "noexec", "rprivate"});
  }

  // A link that leads to a granted root, where its directory is the bundle's.
  void Link(const std::string& path, const std::string& target) {
    const Region* around = plan::RegionOf(plan_.fs.regions, path);
    if (around == nullptr || around->path != "/" || Backing(*around).empty()) return;
    std::string parent(guard::Parent(path));
    if (parent != "/") MountPoint(kRootfs, parent, true);
    Entry(BundleEntry::Kind::kLink, kRootfs + path, Text(target), 0777);
  }

  Json Limits() const {
    Json limits = Json::array();
    auto add = [&](const char* type, uint64_t value) {
      limits.push_back({{"type", type}, {"soft", value}, {"hard", value}});
    };
    add("RLIMIT_CORE", 0);
    if (plan_.limits.cpu_ms) add("RLIMIT_CPU", (*plan_.limits.cpu_ms + 999) / 1000);
    if (plan_.limits.open_files) add("RLIMIT_NOFILE", *plan_.limits.open_files);
    if (plan_.limits.file_size) add("RLIMIT_FSIZE", *plan_.limits.file_size);
    return limits;
  }

  // Only what is nobody's secret: the bundle is a file that others may read.
  Json Environment() {
    Json list = Json::array();
    for (const std::string& entry : plan_.environment) {
      std::string name = entry.substr(0, entry.find('='));
      bool chosen =
          std::ranges::find(plan_.chosen_environment, name) != plan_.chosen_environment.end();
      if (chosen || guard::IsCleanVariable(name)) {
        list.push_back(Text(entry));
      } else {
        made_.variables_left_out.push_back(base::Printable(name));
      }
    }
    return list;
  }

  Json Process() {
    Json none = Json::array(), args = Json::array();
    for (const std::string& word : plan_.command.argv) args.push_back(Text(word));
    return {{"terminal", false},
            {"user", {{"uid", options_.uid}, {"gid", options_.gid}, {"umask", 022}}},
            {"args", args},
            {"env", Environment()},
            {"cwd", Text(plan_.command.directory)},
            {"capabilities",
             {{"bounding", none},
              {"effective", none},
              {"inheritable", none},
              {"permitted", none},
              {"ambient", none}}},
            {"rlimits", Limits()},
            {"noNewPrivileges", true}};
  }

  Json Linux() {
    Json namespaces = Json::array();
    for (const char* type : {"pid", "mount", "ipc", "uts", "cgroup"}) {
      namespaces.push_back({{"type", type}});
    }
    if (plan_.net.own_namespace()) namespaces.push_back({{"type", "network"}});
    Json linux_part = {{"namespaces", Json::array()}};
    if (options_.started_by == OciOptions::StartedBy::kUser) {
      namespaces.push_back({{"type", "user"}});
      auto same = [](uint32_t id) {
        return Json::array({{{"containerID", id}, {"hostID", id}, {"size", 1}}});
      };
      linux_part["uidMappings"] = same(options_.uid);
      linux_part["gidMappings"] = same(options_.gid);
    }
    linux_part["namespaces"] = namespaces;
    Json resources = Json::object();
    if (plan_.limits.memory) {
      resources["memory"] = {{"limit", *plan_.limits.memory}, {"swap", *plan_.limits.memory}};
    }
    if (plan_.limits.processes) resources["pids"] = {{"limit", *plan_.limits.processes}};
    if (!resources.empty()) linux_part["resources"] = resources;
    linux_part["seccomp"] = OciSeccomp(plan_);
    linux_part["maskedPaths"] = Json::array({"/proc/acpi", "/proc/scsi", "/sys/firmware"});
    for (const std::string& path : plan_.masked_system) linux_part["maskedPaths"].push_back(path);
    linux_part["readonlyPaths"] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                   "/proc/sysrq-trigger"};
    return linux_part;
  }

  Json Config() {
    return {{"ociVersion", "1.0.2"},
            {"process", Process()},
            {"root", {{"path", kRootfs}, {"readonly", true}}},
            {"hostname", "cordon"},
            {"mounts", mounts_},
            {"linux", Linux()},
            {"annotations", {{"org.cordon.export", "oci"}}}};
  }

  std::vector<Enforcement> Enforced() const;

  const plan::Plan& plan_;
  const host::PathProbe& probe_;
  const OciOptions& options_;
  OciBundle made_;
  Json mounts_ = Json::array();
  std::set<std::string> known_;
  bool valid_ = true;
};

std::vector<Enforcement> Maker::Enforced() const {
  bool net = plan_.net.own_namespace();
  bool absent = !plan_.fs.absent.empty();
  bool floor = false, deny_new = false;
  for (const plan::ProtectedName& name : plan_.fs.names) {
    floor = floor || name.kind == plan::RuleKind::kFloor;
    deny_new = deny_new || name.kind == plan::RuleKind::kDenyNew;
  }
  std::vector<Enforcement> list = {
      {"fs.read", "mount namespace", absent ? Level::kPartial : Level::kFull,
       absent ? "denied paths that appear during the run are not masked" : ""},
      {"fs.write", "mount namespace", Level::kFull, ""},
      {"fs.floor", floor ? "mount namespace" : "", floor ? Level::kPartial : Level::kNone,
       floor ? "protected names that do not exist yet can be made" : "--no-floor"},
      {"net", net ? "network namespace" : "", net ? Level::kFull : Level::kNone,
       net ? "" : "net.mode is \"open\""},
      {"unix", "seccomp", Level::kFull, ""},
      {"ipc", "ipc namespace", Level::kFull, ""},
      {"pid", "pid namespace", Level::kFull, ""},
      {"seccomp", "seccomp", Level::kPartial, "calls of later kernels are not refused"},
      {"env", "clean environment", Level::kFull, ""},
      {"tty", "new session", Level::kFull, ""},
  };
  if (deny_new) {
    list.push_back({"fs.deny_new", "", Level::kNone, "no mount keeps a name from being made"});
  }
  const LimitPolicy& limits = plan_.limits;
  list.push_back(
      plan::OfLimit("limits.cpu", limits.cpu_ms, "rlimit", Level::kPartial, "of each process"));
  list.push_back(plan::OfLimit("limits.memory", limits.memory, "cgroup", Level::kFull, ""));
  list.push_back(plan::OfLimit("limits.processes", limits.processes, "cgroup", Level::kFull, ""));
  list.push_back(plan::OfLimit("limits.files", limits.open_files, "rlimit", Level::kFull, ""));
  bool temp = plan_.fs.temp == TempMode::kPrivate;
  list.push_back({"limits.disk", temp ? "tmpfs size" : "", temp ? Level::kPartial : Level::kNone,
                  temp ? "writable roots have no quota" : "no limit set"});
  return list;
}

}  // namespace

Result<OciBundle> MakeOciBundle(const plan::Plan& plan, const host::PathProbe& probe,
                                const OciOptions& options) {
  CORDON_TRY(CheckCarried(plan));
  return Maker(plan, probe, options).Make();
}

}  // namespace cordon::backend
