// Runs in: supervisor. Pure: the regions of a plan as mount steps.
#pragma once

#include <vector>

#include "backend/child_spec.h"
#include "plan/plan.h"

namespace cordon::backend {

// First every source is opened as a detached tree, then the root is sealed (or
// replaced by an empty one), then the trees are attached, outermost first. A
// later mount wins, so the floor, being deepest, is last.
Result<std::vector<Step>> MountOps(const plan::Plan& plan);

// One region mounted once more in a running sandbox, whose private tmpfs is in
// slot 0, over whatever is at its path now.
std::vector<Step> RemountOps(const plan::Region& region);

}  // namespace cordon::backend
