// From rules to regions: the smallest set of nested mounts that gives every
// path what the rules say, and one more for each directory between a writable
// region and a protected one in it, so that it cannot be renamed.
#pragma once

#include <vector>

#include "host/path_probe.h"
#include "plan/fs_plan.h"

namespace cordon::plan {

std::vector<Region> MakeRegions(const FsPlan& plan, const host::PathProbe& probe);

// The finished plan, checked once more: no region that is mounted over a floor
// path gives it back its write access.
Status CheckFloorUncovered(const FsPlan& plan);

}  // namespace cordon::plan
