// Whether what is enforced is what the policy insists on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cordon/outcome.h"
#include "cordon/policy.h"

namespace cordon::plan {

// `require` and `trust`: an unmet one is kRequirementUnmet or kPolicyTrustForbid.
Status CheckRequired(const Policy& policy, const std::vector<Enforcement>& enforced);

// How a limit is enforced, if there is one.
Enforcement OfLimit(const char* feature, const std::optional<uint64_t>& limit,
                    const char* mechanism, Level level, const char* note);

}  // namespace cordon::plan
