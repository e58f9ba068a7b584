// User namespaces and what a run does in them, tried; and why not, told from
// the signs that each cause leaves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/doctor.h"
#include "host/trial.h"

namespace cordon::host {

// In the order of a run; kUser is to become the user of a run, for root.
enum class NamespaceStep { kUser = -1, kClone, kMap, kTmpfs, kProc, kDone };

// What can be read about user namespaces being off. Absent: no such file.
struct NamespaceSigns {
  std::optional<long> max_user_namespaces;
  std::optional<long> unprivileged_userns_clone;
  std::optional<long> apparmor_restrict;
  int seccomp_mode = 0;  // of /proc/self/status; 2: under a filter
  bool inside_cordon = false;
  bool operator==(const NamespaceSigns&) const = default;
};

NamespaceSigns ReadNamespaceSigns();

struct Cause {
  std::string detail;
  std::string remedy;
  bool operator==(const Cause&) const = default;
};

// Pure: why the step failed with that errno, as far as the signs tell.
Cause CauseOf(NamespaceStep step, int error, const NamespaceSigns& signs);

// User namespaces first, then mount, proc, net, pid and the small ones; the
// others are not tried where the first fails.
std::vector<Finding> ExamineNamespaces();

}  // namespace cordon::host
