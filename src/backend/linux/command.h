// Runs in: supervisor. Pure.
#pragma once

#include "backend/child_spec.h"
#include "plan/plan.h"

namespace cordon::backend {

// What init starts, and how: the same by every backend.
void SetCommand(const plan::Plan& plan, ChildSpec& spec);

}  // namespace cordon::backend
