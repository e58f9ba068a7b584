// Runs in: supervisor, broker thread.
#include "spawn/file_gate.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "guard/path.h"
#include "plan/rules.h"
#include "spawn/process_tree.h"

namespace cordon::spawn {
namespace {

std::unexpected<int> Fail(int error) { return std::unexpected(error); }

bool InsideAny(std::string_view path, const auto& places) {
  return std::ranges::any_of(places,
                             [&](std::string_view place) { return guard::IsInside(path, place); });
}

// What a sysfs of one's own would not show, or what only root has business with.
constexpr std::array<std::string_view, 6> kClosedSystem = {
    "/sys/firmware",       "/sys/kernel/debug", "/sys/kernel/security",
    "/sys/kernel/tracing", "/sys/fs/bpf",       "/sys/hypervisor"};

// Of the whole machine: its processes, its memory, its kernel.
constexpr std::array<std::string_view, 17> kClosedProc = {
    "/proc/kallsyms", "/proc/kcore",       "/proc/keys",        "/proc/key-users",
    "/proc/kmsg",     "/proc/kpagecgroup", "/proc/kpagecount",  "/proc/kpageflags",
    "/proc/locks",    "/proc/sched_debug", "/proc/slabinfo",    "/proc/sysrq-trigger",
    "/proc/sysvipc",  "/proc/timer_list",  "/proc/vmallocinfo", "/proc/latency_stats",
    "/proc/vmcore"};

constexpr std::array<std::string_view, 5> kDevices = {"/dev/null", "/dev/zero", "/dev/full",
                                                      "/dev/random", "/dev/urandom"};

}  // namespace

const plan::Region* FileGate::HostRegion(const std::string& path) const {
  if (InsideAny(path, std::array<std::string_view, 3>{"/dev", "/proc", "/sys"})) return nullptr;
  const plan::Region* region = plan::RegionOf(plan_.fs.regions, path);
  if (region == nullptr || region->source != plan::RegionSource::kHost) return nullptr;
  // Denied, and made since by someone outside.
  return InsideAny(path, plan_.fs.absent) ? nullptr : region;
}

bool FileGate::IsGrantedDevice(std::string_view path) const {
  return std::ranges::find(kDevices, path) != kDevices.end() ||
         std::ranges::find(plan_.devices, path) != plan_.devices.end();
}

Answer<void> FileGate::MayRead(const std::string& path) const {
  if (HostRegion(path) != nullptr || IsGrantedDevice(path)) return {};
  if (guard::IsInside(path, "/sys") && !InsideAny(path, kClosedSystem)) return {};
  return Fail(EACCES);
}

Answer<void> FileGate::MayChange(const std::string& path) const {
  if (IsGrantedDevice(path)) return {};
  const plan::Region* region = HostRegion(path);
  if (region == nullptr) return Fail(guard::IsInside(path, "/sys") ? EROFS : EACCES);
  if (region->rights != plan::Rights::kReadWrite) return Fail(EROFS);
  const plan::ProtectedName* name =
      plan::ViolatedName(plan_.fs.names, path, plan::Creation::kEmpty);
  if (name != nullptr && name->kind == plan::RuleKind::kFloor) return Fail(EROFS);
  return {};
}

Answer<void> FileGate::MayUnname(const std::string& path) const {
  const plan::Region* region = plan::RegionOf(plan_.fs.regions, path);
  // What would be a mount point.
  if (region != nullptr && region->path == path) return Fail(EBUSY);
  if (IsGrantedDevice(path)) return Fail(EROFS);
  return MayChange(path);
}

bool FileGate::SameRegion(const std::string& one, const std::string& other) const {
  return plan::RegionOf(plan_.fs.regions, one) == plan::RegionOf(plan_.fs.regions, other);
}

Answer<void> FileGate::MayReadProc(const Caller& caller, const std::string& path) const {
  std::vector<std::string> parts = base::Split(path, '/');  // "", "proc", "12", "status"
  if (parts.size() < 3) return Fail(EACCES);
  bool process = parts[2][0] >= '0' && parts[2][0] <= '9';
  if (!process) {
    bool closed = InsideAny(path, kClosedProc) || InsideAny(path, plan_.masked_system);
    if (closed) return Fail(EACCES);
    return {};
  }
  pid_t pid = atoi(parts[2].c_str());
  if (!IsInTree(pid, init_)) return Fail(ENOENT);
  // The host's connections, of whatever process it is asked.
  bool network = std::ranges::find(parts, "net") != parts.end();
  if (network && plan_.net.mode != NetMode::kOpen) return Fail(EACCES);
  if (parts.back() == "mem" && pid != caller.InnerPid()) return Fail(EACCES);
  return {};
}

}  // namespace cordon::spawn
