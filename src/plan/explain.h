// May a command inside do this to that path, and by which rule?
#pragma once

#include <string>

#include "host/path_probe.h"
#include "plan/plan.h"

namespace cordon::plan {

enum class Act { kRead, kWrite, kExecute };

struct Explanation {
  Verdict verdict;
  std::string path;  // where the asked path leads; its missing part as written
  bool exists = false;
  // Whether the host's own file is meant, so that the host's permissions have a
  // say as well. This does not ask them.
  bool on_host = false;
  bool operator==(const Explanation&) const = default;
};

// `path` is absolute and need not exist. Every symbolic link on the way must be
// reachable inside, too. `policy` is the one that `plan` was made from.
Explanation Explain(const Plan& plan, const FsPolicy& policy, const host::PathProbe& probe, Act act,
                    const std::string& path);

}  // namespace cordon::plan
