// Runs in: supervisor. Pure: a plan as the instructions of the backends that make
// no namespace.
#pragma once

#include "backend/child_spec.h"
#include "host/facts.h"
#include "plan/plan.h"

namespace cordon::backend {

// Landlock grants nothing but to execute; all that opens or changes a file goes
// through the broker, and what gets past it fails.
ChildSpec CompileLandlock(const plan::Plan& plan);

// No containment: a session, limits and a supervised process tree.
ChildSpec CompileNone(const plan::Plan& plan, const host::Facts& facts);

}  // namespace cordon::backend
