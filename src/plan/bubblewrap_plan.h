// What is different in a plan that bubblewrap carries out: it has no capability left for
// routes, and none at all where it is setuid.
#pragma once

#include "plan/plan.h"

namespace cordon::plan {

// Refuses (`unsupported`) what bubblewrap cannot give, and (`requirement_unmet`) to run
// without /proc where nobody allowed that.
Status CheckBubblewrap(const PlanInputs& inputs);

// The network and the files of such a run.
void LeaveToBubblewrap(Plan& plan);

// Changes the list of the namespaces backend.
void EnforceByBubblewrap(const Plan& plan, std::vector<Enforcement>& list);

}  // namespace cordon::plan
