#include "host/doctor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/strings.h"
#include "host/backend.h"
#include "host/bubblewrap.h"
#include "host/cgroup.h"
#include "host/kernel_probe.h"
#include "host/trial.h"
#include "host/userns_probe.h"

namespace cordon::host {
namespace {

constexpr std::string_view kIdmapped = "id-mapped mounts";

Finding ExamineCgroup() {
  Finding finding{.feature = "cgroups", .need = Need::kHelpful};
  CgroupHome home = FindCgroupHome();
  finding.available = !home.memory.empty() && !home.processes.empty();
  if (finding.available) {
    finding.detail = "runs may have one of their own: memory in " + home.memory;
    return finding;
  }
  finding.detail = "this process may make none: limits on memory are watched, not held";
  finding.remedy =
      "run it where systemd lets this user divide cgroups: systemd-run --user --scope cordon ….";
  return finding;
}

// Id-mapped mounts are examined, and needed, in a launch by root alone.
bool Has(const std::vector<Finding>& findings, std::string_view feature) {
  auto found = std::ranges::find(findings, feature, &Finding::feature);
  return found != findings.end() ? found->available : feature == kIdmapped;
}

// Without it there is no launch at all; without the others there is a weaker one.
bool IsFatal(const Finding& finding) {
  constexpr std::array kSurvived = {std::string_view("landlock"), std::string_view("pidfd_getfd"),
                                    kIdmapped};
  return finding.need == Need::kRequired && !finding.available &&
         std::ranges::find(kSurvived, finding.feature) == kSurvived.end();
}

struct Requirement {
  const char* feature;
  const char* mechanism;
  std::vector<const char*> findings;
  Level best = Level::kFull;
  const char* note = "";
};

std::vector<Requirement> Requirements() {
  return {
      {"fs.read", "mount namespace, landlock", {"mount namespace", "landlock", "id-mapped mounts"}},
      {"fs.write",
       "mount namespace, landlock",
       {"mount namespace", "landlock", "id-mapped mounts"}},
      {"fs.floor", "mount namespace, broker", {"mount namespace", "seccomp notification"}},
      {"net", "network namespace", {"network namespace"}},
      {"unix", "broker, seccomp", {"seccomp notification", "pidfd_getfd", "network namespace"}},
      {"ipc", "ipc namespace", {"ipc, uts and cgroup namespaces"}},
      {"pid", "pid namespace", {"pid namespace"}},
      {"seccomp", "seccomp", {"seccomp notification"}},
      {"env", "clean environment", {}},
      {"tty", "own pseudo-terminal", {"mount namespace"}},
      {"limits.cpu",
       "rlimit, watching the tree",
       {"pid namespace"},
       Level::kPartial,
       "the sum over processes is sampled"},
      {"limits.memory",
       "rlimit per process, watching the tree",
       {"pid namespace"},
       Level::kPartial,
       "the sum over processes is sampled"},
      {"limits.processes", "rlimit in the user namespace", {"user namespaces", "id-mapped mounts"}},
      {"limits.files", "rlimit", {}},
      {"limits.disk",
       "tmpfs size",
       {"mount namespace"},
       Level::kPartial,
       "writable roots have no quota"},
  };
}

// By the landlock backend.
std::vector<Enforcement> WithoutNamespaces() {
  const char* watched = "the sum over processes is sampled";
  return {
      {"fs.read", "broker, landlock", Level::kPartial, std::string(kLandlockReads)},
      {"fs.write", "broker, landlock", Level::kFull, ""},
      {"fs.floor", "broker", Level::kFull, ""},
      {"net", "seccomp, broker, proxy", Level::kFull, ""},
      {"unix", "broker, seccomp", Level::kFull, ""},
      {"ipc", "seccomp", Level::kFull, ""},
      {"pid", "landlock, broker", Level::kPartial, std::string(kLandlockProcesses)},
      {"seccomp", "seccomp", Level::kFull, ""},
      {"env", "clean environment", Level::kFull, ""},
      {"tty", "own pseudo-terminal", Level::kFull, ""},
      {"limits.cpu", "rlimit, watching the tree", Level::kPartial, watched},
      {"limits.memory", "rlimit per process, watching the tree", Level::kPartial, watched},
      {"limits.processes", "broker", Level::kFull, ""},
      {"limits.files", "rlimit", Level::kFull, ""},
      {"limits.disk", "watching the run's own directory", Level::kPartial,
       "writable roots have no quota"},
  };
}

// By the bubblewrap backend: the same boundary, made by another.
std::vector<Enforcement> ByBubblewrap(const Finding& bubblewrap) {
  std::vector<Enforcement> features;
  for (const Requirement& item : Requirements()) {
    features.push_back({item.feature, item.mechanism, item.best, item.note});
  }
  if (!bubblewrap.detail.ends_with(kSetuid)) return features;
  for (Enforcement& item : features) {
    if (item.feature != "limits.processes") continue;
    item = {item.feature, "rlimit of the user, watching the tree", Level::kPartial,
            "a setuid bubblewrap makes no user namespace to count in"};
  }
  return features;
}

}  // namespace

std::vector<Finding> Examine() {
  std::vector<Finding> findings = {ExamineSystemCalls()};
  for (Finding& finding : ExamineNamespaces()) findings.push_back(std::move(finding));
  findings.push_back(ExamineLandlock());
  findings.push_back(ExamineSeccompNotify());
  findings.push_back(ExaminePidfdGetfd());
  if (geteuid() == 0) findings.push_back(ExamineIdmappedMounts());
  findings.push_back(ExamineSyncWakeUp());
  findings.push_back(ExamineCgroup());
  findings.push_back(ExamineBubblewrap());
  return findings;
}

std::vector<Enforcement> Enforceable(const std::vector<Finding>& findings) {
  Backend chosen = Choose(Backends(findings));
  if (chosen == Backend::kLandlock) return WithoutNamespaces();
  if (chosen == Backend::kBubblewrap) {
    return ByBubblewrap(*std::ranges::find(findings, "bubblewrap", &Finding::feature));
  }
  auto fatal = std::ranges::find_if(findings, IsFatal);
  std::vector<Enforcement> features;
  for (const Requirement& requirement : Requirements()) {
    Enforcement item{requirement.feature, requirement.mechanism, requirement.best,
                     requirement.note};
    for (const char* needed : requirement.findings) {
      if (Has(findings, needed)) continue;
      item.level = Level::kPartial;
      item.note = std::string("no ") + needed;
    }
    if (fatal != findings.end()) {
      item = {requirement.feature, "", Level::kNone, "a run is refused without " + fatal->feature};
    }
    features.push_back(std::move(item));
  }
  return features;
}

bool DefaultIsFull(const std::vector<Enforcement>& features) {
  return std::ranges::all_of(features, [](const Enforcement& item) {
    return item.level == Level::kFull || item.feature.starts_with("limits.");
  });
}

}  // namespace cordon::host
