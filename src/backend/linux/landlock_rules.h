// Runs in: supervisor. Pure: the regions of a plan as a Landlock ruleset.
#pragma once

#include "backend/child_spec.h"
#include "plan/plan.h"

namespace cordon::backend {

// Every right of the ABI, so that what no rule grants is denied.
uint64_t HandledFs(int abi);

// Inside one ruleset rules unite, so this is the outline only: what may be
// written at all, what may be read at all. The carve-outs are mounts.
LandlockRules MakeLandlockRules(const plan::Plan& plan);

}  // namespace cordon::backend
