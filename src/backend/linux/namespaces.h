// Runs in: supervisor. Pure: a plan as the instructions of the namespaces
// backend.
#pragma once

#include "backend/child_spec.h"
#include "plan/plan.h"

namespace cordon::backend {

// The CLONE_NEW* flags of a run, which are known before its plan.
uint64_t NamespacesFor(NetMode mode);

Result<ChildSpec> CompileNamespaces(const plan::Plan& plan);

}  // namespace cordon::backend
