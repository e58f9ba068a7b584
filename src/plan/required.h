// Whether what is enforced is what the policy insists on.
#pragma once

#include <vector>

#include "cordon/outcome.h"
#include "cordon/policy.h"

namespace cordon::plan {

// `require` and `trust`: an unmet one is kRequirementUnmet or kPolicyTrustForbid.
Status CheckRequired(const Policy& policy, const std::vector<Enforcement>& enforced);

}  // namespace cordon::plan
