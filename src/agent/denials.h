// What the policy denies of a path, as a Violation; and what a command's complaints
// tell of denials that the kernel does not report.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "host/path_probe.h"
#include "plan/explain.h"

namespace cordon::agent {

Violation DenialOf(plan::Act act, const plan::Explanation& answer);

// Paths that `stderr_text` says were not permitted, as far as the policy denies them
// indeed: what a command writes there is its own word. `directory`: where it ran.
std::vector<Violation> DenialsIn(std::string_view stderr_text, const std::string& directory,
                                 const plan::Plan& plan, const FsPolicy& policy,
                                 const host::PathProbe& probe);

}  // namespace cordon::agent
