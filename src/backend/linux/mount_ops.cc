// Runs in: supervisor. Pure.
#include "backend/linux/mount_ops.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;

// Directories of the sandbox's one tmpfs. Slot 0 holds it.
constexpr int kPrivateSlot = 0;
constexpr const char* kRootDirectory = "root";
constexpr const char* kDevDirectory = "dev";
constexpr const char* kMaskDirectory = "none";  // mode 000
constexpr const char* kMaskFile = "none.file";  // mode 000

constexpr std::array kDevices = {"null", "zero", "full", "random", "urandom", "tty"};

constexpr uint64_t kHostAttributes = uapi::kMountAttrNosuid | uapi::kMountAttrNodev;

class Builder {
 public:
  explicit Builder(const plan::Plan& plan) : plan_(plan) {}

  Result<std::vector<Step>> Build() {
    for (const Region& region : plan_.fs.regions) Open(region);
    OpenDevices();
    MakePrivateTree();
    Seal();
    AttachAll();
    if (next_slot_ > kMaxSlots) {
      return Error{.code = Code::kResourceExhausted,
                   .reason = Reason::kScanBudget,
                   .message = "the policy needs " + std::to_string(next_slot_) +
                              " mounts; at most " + std::to_string(kMaxSlots) + " are made",
                   .hint = "deny a directory instead of the many files in it"};
    }
    return std::move(steps_);
  }

 private:
  bool host_root() const { return plan_.fs.regions.front().source == RegionSource::kHost; }

  // The region that `region` is mounted into.
  const Region& Around(const Region& region) const {
    const Region* around = &plan_.fs.regions.front();
    for (const Region& other : plan_.fs.regions) {
      if (other.path != region.path && guard::IsInside(region.path, other.path) &&
          other.path.size() > around->path.size()) {
        around = &other;
      }
    }
    return *around;
  }

  void Open(const Region& region) {
    if (region.source != RegionSource::kHost || region.path == "/") return;
    int slot = next_slot_++;
    opened_.emplace_back(&region, slot);
    steps_.push_back({.op = Op::kOpenTree,
                      .slot = slot,
                      .path = region.path,
                      .identity = {region.device, region.inode}});
    uint64_t attributes =
        kHostAttributes | (region.rights == Rights::kReadOnly ? uapi::kMountAttrRdonly : 0);
    steps_.push_back({.op = Op::kAttributes, .slot = slot, .value = attributes});
  }

  void OpenDevices() {
    for (const char* name : kDevices) OpenDevice(std::string("/dev/") + name);
    for (const std::string& path : plan_.devices) OpenDevice(path);
  }

  void OpenDevice(const std::string& path) {
    int slot = next_slot_++;
    devices_.emplace_back(path, slot);
    steps_.push_back({.op = Op::kOpenTree, .slot = slot, .path = path});
  }

  void Make(Op op, const std::string& path, uint64_t mode) {
    steps_.push_back({.op = op, .slot = kPrivateSlot, .path = path, .value = mode});
  }

  // One tmpfs for all that is the sandbox's own; its directories are mounted
  // where they belong. Mount points that the host's tree does not have in these
  // places are made here, never on the host.
  void MakePrivateTree() {
    // An inode takes about a kilobyte of kernel memory, whatever is in it.
    constexpr uint64_t kFewestInodes = 16384, kBytesPerInode = 8192;
    uint64_t inodes = std::max(kFewestInodes, plan_.fs.temp_size / kBytesPerInode);
    steps_.push_back({.op = Op::kTmpfs,
                      .slot = kPrivateSlot,
                      .path = std::to_string(inodes),
                      .data = std::to_string(plan_.fs.temp_size)});
    Make(Op::kMakeDir, kMaskDirectory, 0);
    Make(Op::kMakeFile, kMaskFile, 0);
    MakeDev();
    for (size_t i = 0; i < plan_.files.size(); ++i) {
      steps_.push_back({.op = Op::kMakeFile,
                        .slot = kPrivateSlot,
                        .path = FileName(i),
                        .data = plan_.files[i].text,
                        .value = 0444});
    }
    int number = 0;
    for (const Region& region : plan_.fs.regions) {
      if (region.source == RegionSource::kPrivate) {
        std::string name = region.path == "/" ? kRootDirectory : "d" + std::to_string(number++);
        uint64_t mode = region.path == "/" ? 0755 : region.rights == Rights::kReadWrite ? 01777 : 0;
        Make(Op::kMakeDir, name, mode);
        private_.emplace_back(&region, name);
      } else if (region.source == RegionSource::kMask && region.directory && HoldsAnother(region)) {
        // Not listable, but what is allowed within it can be walked to.
        std::string name = "d" + std::to_string(number++);
        Make(Op::kMakeDir, name, 0111);
        private_.emplace_back(&region, name);
      }
    }
    for (const Region& region : plan_.fs.regions) MakeMountPoint(region);
    for (const auto& [path, target] : plan_.fs.links) MakeLink(path, target);
    if (!host_root()) {
      for (const char* name : {"proc", "sys", "dev"}) {
        MakeInside("/", std::string("/") + name, true);
      }
    }
  }

  void MakeDev() {
    Make(Op::kMakeDir, kDevDirectory, 0755);
    std::string dev = std::string(kDevDirectory) + "/";
    for (const auto& [path, slot] : devices_) {
      if (guard::Parent(path) == "/dev") {
        Make(Op::kMakeFile, dev + std::string(guard::BaseName(path)), 0666);
      }
    }
    Make(Op::kMakeDir, dev + "shm", 01777);
    Make(Op::kMakeDir, dev + "pts", 0755);
    auto link = [&](const char* name, const char* target) {
      steps_.push_back(
          {.op = Op::kMakeLink, .slot = kPrivateSlot, .path = dev + name, .data = target});
    };
    link("ptmx", "pts/ptmx");
    link("fd", "/proc/self/fd");
    link("stdin", "/proc/self/fd/0");
    link("stdout", "/proc/self/fd/1");
    link("stderr", "/proc/self/fd/2");
  }

  static std::string FileName(size_t index) { return "file" + std::to_string(index); }

  bool HoldsAnother(const Region& region) const {
    return std::ranges::any_of(plan_.fs.regions, [&](const Region& other) {
      return other.path != region.path && guard::IsInside(other.path, region.path);
    });
  }

  const std::string* PrivateName(const Region& region) const {
    for (const auto& [known, name] : private_) {
      if (known == &region) return &name;
    }
    return nullptr;
  }

  void MakeMountPoint(const Region& region) {
    if (region.path == "/") return;
    const Region& around = Around(region);
    if (around.source == RegionSource::kHost) return;
    MakeInside(around.path, region.path, region.directory);
  }

  // mkdir -p of `path` in the private directory mounted at `root`.
  void MakeInside(const std::string& root, const std::string& path, bool directory) {
    const Region* region = nullptr;
    for (const Region& candidate : plan_.fs.regions) {
      if (candidate.path == root) region = &candidate;
    }
    const std::string* name = region == nullptr ? nullptr : PrivateName(*region);
    if (name == nullptr) return;
    uint64_t mode = region->source == RegionSource::kMask ? 0111 : 0755;
    std::string below = path.substr(root == "/" ? 1 : root.size() + 1);
    std::string made = *name;
    std::vector<std::string> parts = base::Split(below, '/');
    for (size_t i = 0; i < parts.size(); ++i) {
      made += "/" + parts[i];
      if (!made_.insert(made).second) continue;
      bool last = i + 1 == parts.size();
      Make(last && !directory ? Op::kMakeFile : Op::kMakeDir, made, last && !directory ? 0 : mode);
    }
  }

  // A symbolic link that leads to a granted root is there inside as well, where
  // the directory that holds it is ours.
  void MakeLink(const std::string& path, const std::string& target) {
    const Region* around = &plan_.fs.regions.front();
    for (const Region& region : plan_.fs.regions) {
      if (guard::IsInside(path, region.path) && region.path.size() > around->path.size()) {
        around = &region;
      }
    }
    const std::string* name = PrivateName(*around);
    if (name == nullptr || around->source == RegionSource::kMask) return;
    std::string parent(guard::Parent(path));
    if (parent != around->path) MakeInside(around->path, parent, true);
    std::string made = *name + "/" + path.substr(around->path == "/" ? 1 : around->path.size() + 1);
    if (!made_.insert(made).second) return;
    steps_.push_back({.op = Op::kMakeLink, .slot = kPrivateSlot, .path = made, .data = target});
  }

  int CloneOf(const std::string& name) {
    int slot = next_slot_++;
    steps_.push_back({.op = Op::kCloneSlot, .slot = slot, .from = kPrivateSlot, .path = name});
    return slot;
  }

  void Attach(int slot, const std::string& path, Identity identity = {}) {
    steps_.push_back({.op = Op::kAttach, .slot = slot, .path = path, .identity = identity});
  }

  void Protect(int slot, uint64_t attributes) {
    steps_.push_back({.op = Op::kAttributes, .slot = slot, .value = attributes});
  }

  void Seal() {
    // Cloned mounts must be attached somewhere first (before Linux 6.15). /dev
    // is there on every host, and gets covered by the sandbox's own right after.
    const Region& root = plan_.fs.regions.front();
    uint64_t attributes = uapi::kMountAttrNosuid;
    if (root.rights == Rights::kReadOnly) attributes |= uapi::kMountAttrRdonly;
    proc_slot_ = next_slot_++;
    steps_.push_back({.op = Op::kProc, .slot = proc_slot_});
    sys_slot_ = next_slot_++;
    if (!plan_.net.own_namespace()) {
      // A new sysfs belongs to a network namespace; without one the host's is
      // shown, read-only.
      steps_.push_back({.op = Op::kOpenTree, .slot = sys_slot_, .path = "/sys"});
    } else {
      steps_.push_back({.op = Op::kSysfs, .slot = sys_slot_, .path = "/sys"});
    }
    Protect(sys_slot_, uapi::kMountAttrRdonly | kHostAttributes | uapi::kMountAttrNoexec);
    steps_.push_back({.op = Op::kSealRoot, .value = host_root() ? attributes : 0});
    // Not kAttach: the slot stays open to be cloned from.
    steps_.push_back({.op = Op::kStash, .slot = kPrivateSlot, .path = "/dev"});
    dev_slot_ = CloneOf(kDevDirectory);
    for (const auto& [region, name] : private_) {
      int slot = CloneOf(name);
      if (region->rights == Rights::kReadOnly || region->source == RegionSource::kMask) {
        Protect(slot, uapi::kMountAttrRdonly);
      }
      if (region->path == "/") {
        root_slot_ = slot;
      } else {
        private_slots_.emplace_back(region, slot);
      }
    }
    for (const Region& region : plan_.fs.regions) {
      if (region.source == RegionSource::kMask && PrivateName(region) == nullptr) {
        masks_.emplace_back(&region, Mask(region.directory));
      }
    }
    for (const std::string& path : plan_.masked_system) {
      masked_proc_.emplace_back(path, Mask(/*directory=*/false));
    }
    for (size_t i = 0; i < plan_.files.size(); ++i) {
      file_slots_.push_back(CloneOf(FileName(i)));
      Protect(file_slots_.back(), uapi::kMountAttrRdonly | uapi::kMountAttrNoexec);
    }
    if (!host_root()) steps_.push_back({.op = Op::kEnterRoot, .slot = root_slot_});
  }

  int Mask(bool directory) {
    int slot = CloneOf(directory ? kMaskDirectory : kMaskFile);
    Protect(slot, uapi::kMountAttrRdonly | uapi::kMountAttrNoexec);
    return slot;
  }

  static int SlotOf(const std::vector<std::pair<const Region*, int>>& list, const Region& region) {
    for (const auto& [known, slot] : list) {
      if (known == &region) return slot;
    }
    return -1;
  }

  void AttachAll() {
    AttachSystem();
    for (const Region& region : plan_.fs.regions) {
      if (region.path == "/") continue;
      // What lies on the host's own tree must still be what the plan saw.
      bool on_host = Around(region).source == RegionSource::kHost;
      Identity identity = on_host ? Identity{region.device, region.inode} : Identity{};
      for (const auto* list : {&opened_, &private_slots_, &masks_}) {
        if (int slot = SlotOf(*list, region); slot >= 0) Attach(slot, region.path, identity);
      }
    }
    for (size_t i = 0; i < file_slots_.size(); ++i) Attach(file_slots_[i], plan_.files[i].path);
  }

  void AttachSystem() {
    Attach(dev_slot_, "/dev");
    for (const auto& [path, slot] : devices_) Attach(slot, path);
    int pts = next_slot_++;
    steps_.push_back({.op = Op::kDevpts, .slot = pts});
    Attach(pts, "/dev/pts");
    Attach(sys_slot_, "/sys");
    Attach(proc_slot_, "/proc");
    for (const auto& [path, slot] : masked_proc_) Attach(slot, path);
  }

  const plan::Plan& plan_;
  std::vector<Step> steps_;
  int next_slot_ = 1;
  int proc_slot_ = -1;
  int sys_slot_ = -1;
  int dev_slot_ = -1;
  int root_slot_ = -1;
  std::set<std::string> made_;
  std::vector<std::pair<const Region*, int>> opened_;
  std::vector<std::pair<std::string, int>> devices_;
  std::vector<std::pair<const Region*, std::string>> private_;
  std::vector<std::pair<const Region*, int>> private_slots_;
  std::vector<std::pair<const Region*, int>> masks_;
  std::vector<std::pair<std::string, int>> masked_proc_;
  std::vector<int> file_slots_;
};

}  // namespace

std::vector<Step> RemountOps(const Region& region) {
  constexpr int kSlot = 1;
  uint64_t attributes = kHostAttributes;
  if (region.rights == Rights::kReadOnly) attributes |= uapi::kMountAttrRdonly;
  std::vector<Step> steps;
  if (region.source == RegionSource::kHost) {
    steps.push_back({.op = Op::kOpenTree, .slot = kSlot, .path = region.path});
  } else if (region.directory) {
    steps.push_back({.op = Op::kTmpfs, .slot = kSlot, .path = "1", .data = "4096", .value = 1});
  } else {
    // A device on a mount without devices cannot be opened.
    steps.push_back({.op = Op::kOpenTree, .slot = kSlot, .path = "/dev/null"});
  }
  steps.push_back({.op = Op::kAttributes, .slot = kSlot, .value = attributes});
  steps.push_back({.op = Op::kAttach, .slot = kSlot, .path = region.path});
  return steps;
}

Result<std::vector<Step>> MountOps(const plan::Plan& plan) { return Builder(plan).Build(); }

}  // namespace cordon::backend
