#include "plan/explain.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "guard/path.h"
#include "host/resolve.h"
#include "plan/rules.h"

namespace cordon::plan {
namespace {

constexpr std::array kDevices = {"/dev/null",    "/dev/zero",   "/dev/full",  "/dev/random",
                                 "/dev/urandom", "/dev/tty",    "/dev/ptmx",  "/dev/fd",
                                 "/dev/stdin",   "/dev/stdout", "/dev/stderr"};

Access AccessOf(Act act) { return act == Act::kWrite ? Access::kWrite : Access::kRead; }

bool IsDevice(const Plan& plan, std::string_view path) {
  return std::ranges::find(kDevices, path) != kDevices.end() ||
         std::ranges::find(plan.devices, path) != plan.devices.end() ||
         guard::IsInside(path, "/dev/pts") || path == "/dev";
}

Verdict InDev(const Plan& plan, Act act, std::string_view path) {
  if (guard::IsInside(path, "/dev/shm")) {
    return {.allowed = true, .rule = "private /dev", .detail = "/dev/shm is the sandbox's own"};
  }
  bool node = path != "/dev" && path != "/dev/pts";
  if (IsDevice(plan, path) && (node || act == Act::kRead)) {
    return {.allowed = true, .rule = "private /dev", .detail = "one of the sandbox's few devices"};
  }
  return {.rule = "private /dev",
          .detail = "not in the sandbox's own /dev",
          .hint = "fs.devices would allow a device"};
}

Verdict InProc(const Plan& plan, Act act, std::string_view path) {
  if (std::ranges::find(plan.masked_system, path) != plan.masked_system.end()) {
    return {.rule = "private /proc", .detail = "masked"};
  }
  bool writes = act == Act::kWrite;
  return {.allowed = !writes || plan.nesting,
          .rule = "private /proc",
          .detail = writes ? "/proc is read-only inside"
                           : "/proc is the sandbox's own and shows only its own processes"};
}

// /dev, /proc and /sys are the sandbox's own unless the policy put something
// there by name.
const char* SystemDirectory(const Plan& plan, std::string_view path) {
  for (const char* top : {"/dev", "/proc", "/sys"}) {
    if (!guard::IsInside(path, top)) continue;
    const Region* region = RegionOf(plan.fs.regions, path);
    return region == nullptr || !guard::IsInside(region->path, top) ? top : nullptr;
  }
  return nullptr;
}

Verdict InSystem(const Plan& plan, Act act, std::string_view top, std::string_view path) {
  if (top == "/dev") return InDev(plan, act, path);
  if (top == "/proc") return InProc(plan, act, path);
  return {
      .allowed = act == Act::kRead,
      .rule = "private /sys",
      .detail = act == Act::kRead ? "readable" : "/sys is read-only inside, nothing runs there"};
}

// With a read list the root is the sandbox's own, and so are the directories
// that lead to what is granted: listable, and empty but for the way.
// Empty: there is nothing granted below.
std::string_view GrantedBelow(const FsPlan& plan, std::string_view path) {
  const Region* around = RegionOf(plan.regions, path);
  if (around == nullptr || around->path != "/" || around->source != RegionSource::kPrivate) {
    return {};
  }
  for (const Region& region : plan.regions) {
    if (region.path != path && guard::IsInside(region.path, path) &&
        region.source != RegionSource::kMask) {
      return region.path;
    }
  }
  for (const auto& [link, target] : plan.links) {
    if (link != path && guard::IsInside(link, path)) return link;
  }
  return {};
}

Verdict InTree(const FsPlan& plan, Act act, const std::string& path, const host::PathInfo& info) {
  bool change = act == Act::kWrite && info.exists() && !info.directory();
  Verdict verdict = Decide(plan, change ? Access::kChange : AccessOf(act), path);
  if (verdict.allowed || act != Act::kRead) return verdict;
  if (std::string_view granted = GrantedBelow(plan, path); !granted.empty()) {
    return {.allowed = true,
            .rule = "fs.read",
            .detail = "shows nothing but the way to " + std::string(granted)};
  }
  return verdict;
}

// The rule of deny_read that names a path which is not there now: nothing is
// mounted for it, and it would be from the next start on.
const PathRule* DenyOfMissing(const FsPolicy& policy, const host::PathProbe& probe,
                              const std::string& path) {
  auto names = [&](const PathRule& rule) {
    if (!rule.glob) return guard::IsInside(path, host::Resolve(probe, rule.path).path);
    for (std::string_view at = path; at != "/"; at = guard::Parent(at)) {
      if (guard::GlobMatch(rule.path, at)) return true;
    }
    return false;
  };
  if (std::ranges::any_of(policy.allow_read_within_deny, names)) return nullptr;
  auto found = std::ranges::find_if(policy.deny_read, names);
  return found == policy.deny_read.end() ? nullptr : &*found;
}

Verdict Missing(const FsPolicy& policy, const host::PathProbe& probe, Act act,
                const std::string& path, Verdict verdict) {
  if (!verdict.allowed) return verdict;
  if (const PathRule* rule = DenyOfMissing(policy, probe, path); rule && act != Act::kWrite) {
    return {.rule = "fs.deny_read " + rule->origin.ToString(),
            .detail = "does not exist now; would not be readable",
            .hint = "fs.deny_read = { only = [...] } without it would allow it",
            .source = rule->origin.source,
            .line = rule->origin.line};
  }
  verdict.detail += act == Act::kWrite ? "; does not exist yet" : "; does not exist";
  return verdict;
}

Verdict Executable(const host::PathInfo& info, Verdict verdict) {
  if (!verdict.allowed || !info.exists()) return verdict;
  bool regular = info.type == host::FileType::kRegular;
  if (regular && (info.mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0) {
    verdict.detail += " and executable";
    return verdict;
  }
  return {.rule = "file mode",
          .detail = regular ? "readable, but has no executable bit" : "not a regular file",
          .hint = regular ? "chmod +x would allow it" : ""};
}

// The first link on the way that cannot be followed inside.
bool Blocks(const FsPlan& plan, const std::pair<std::string, std::string>& link) {
  if (std::ranges::find(plan.links, link) != plan.links.end()) return false;
  return !Decide(plan, Access::kRead, link.first).allowed;
}

const Region* PrivateRegion(const FsPlan& plan, std::string_view path) {
  const Region* region = RegionOf(plan.regions, path);
  bool found = region != nullptr && region->source == RegionSource::kPrivate && region->path != "/";
  return found ? region : nullptr;
}

// What the host has there is not there inside, but for the way to a region.
Verdict InPrivate(const FsPlan& plan, const Region& region, Act act, const std::string& path,
                  bool on_host) {
  bool shown = path == region.path || std::ranges::any_of(plan.regions, [&](const Region& other) {
                 return guard::IsInside(other.path, path);
               });
  if (act == Act::kWrite || !on_host || shown) return Decide(plan, AccessOf(act), path);
  return {.rule = "fs.temp",
          .detail = region.path + " is the sandbox's own: the host's file is not seen there",
          .hint = "fs.read or --read would show it"};
}

}  // namespace

Explanation Explain(const Plan& plan, const FsPolicy& policy, const host::PathProbe& probe, Act act,
                    const std::string& path) {
  // As written: what is in /dev or /proc on the host does not matter.
  std::string written = guard::NormalizePath(path);
  if (const char* top = SystemDirectory(plan, written)) {
    return {InSystem(plan, act, top, written), written, probe.Inspect(written).exists(), false};
  }
  host::Resolution found = host::Resolve(probe, path);
  for (const auto& link : found.links) {
    if (const Region* region = PrivateRegion(plan.fs, link.first)) {
      return {InPrivate(plan.fs, *region, act, link.first, /*on_host=*/true), link.first, true};
    }
    if (!Blocks(plan.fs, link)) continue;
    Verdict verdict = Decide(plan.fs, Access::kRead, link.first);
    verdict.detail = "the link " + link.first + " on the way: " + verdict.detail;
    return {std::move(verdict), found.path, found.info.exists(), false};
  }
  Explanation answer{.path = found.path, .exists = found.info.exists()};
  if (const char* top = SystemDirectory(plan, found.path)) {
    answer.verdict = InSystem(plan, act, top, found.path);
    return answer;
  }
  if (const Region* region = PrivateRegion(plan.fs, found.path)) {
    answer.verdict = InPrivate(plan.fs, *region, act, found.path, answer.exists);
    return answer;
  }
  answer.verdict = InTree(plan.fs, act, found.path, found.info);
  answer.on_host = RegionOf(plan.fs.regions, found.path)->source == RegionSource::kHost;
  if (act == Act::kExecute) {
    answer.verdict = Executable(found.info, std::move(answer.verdict));
  }
  if (found.info.type == host::FileType::kMissing) {
    answer.verdict = Missing(policy, probe, act, found.path, std::move(answer.verdict));
  }
  return answer;
}

}  // namespace cordon::plan
