// Runs in: supervisor. Pure: the limits that the kernel keeps for each process.
#pragma once

#include <vector>

#include "backend/child_spec.h"
#include "cordon/policy.h"
#include "plan/plan.h"

namespace cordon::backend {

// `held`: limits that a cgroup holds better.
// `others`: what the kernel counts besides the sandbox where it counts processes.
void AddLimits(const LimitPolicy& limits, plan::CgroupLimits held, uint64_t others,
               std::vector<Step>& steps);

}  // namespace cordon::backend
