// Runs in: supervisor. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plan/plan.h"

namespace cordon::backend {

// The `linux.seccomp` of a bundle: what the seccomp programs refuse, in the form
// that engines take. Without a broker nobody tells one unix socket from another,
// so there are none.
nlohmann::ordered_json OciSeccomp(const plan::Plan& plan);

}  // namespace cordon::backend
