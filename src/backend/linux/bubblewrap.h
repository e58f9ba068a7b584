// Runs in: supervisor. Pure: a plan as the arguments of bubblewrap, which makes the
// namespaces and mounts, and the steps that are done inside of it.
#pragma once

#include "backend/child_spec.h"
#include "host/facts.h"
#include "plan/plan.h"

namespace cordon::backend {

// `facts`: the threads of the user, where bubblewrap makes no user namespace to count in.
ChildSpec CompileBubblewrap(const plan::Plan& plan, const host::Facts& facts);

}  // namespace cordon::backend
