// What is different in a plan without namespaces: nothing can be mounted, so a
// private region is a place that is not there, and Landlock alone decides what
// may be executed.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace cordon::plan {

// Refuses (`unsupported`) what cannot be had without namespaces at all.
Status CheckWithoutNamespaces(const Policy& policy);

// Turns private regions into masks, adds those of the run's own directory, and
// sets `programs`.
void LeaveNamespaces(const host::PathProbe& probe, Plan& plan);

// One per feature, in the order of MakePlan's own list, up to the limits.
std::vector<Enforcement> EnforcedByLandlock(const Plan& plan, FsInputs::Floor floor);
std::vector<Enforcement> EnforcedByNothing(const Plan& plan);

}  // namespace cordon::plan
