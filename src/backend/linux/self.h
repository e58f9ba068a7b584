// Runs in: a process that confines itself. Pure: a plan as what that process does.
#pragma once

#include <string>

#include "backend/child_spec.h"
#include "plan/plan.h"

namespace cordon::backend {

struct SelfSpec {
  ChildSpec spec;    // steps, Landlock and the filter; no command
  std::string hole;  // a denied path that lies in a writable root, and is not closed; or empty
};

// `plan` is one of the landlock backend.
SelfSpec CompileSelf(const plan::Plan& plan);

}  // namespace cordon::backend
