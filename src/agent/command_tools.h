// The tools that run commands: shell, exec, shell_output, shell_kill.
#pragma once

#include <vector>

#include "agent/jobs.h"
#include "agent/tool.h"
#include "agent/workbench.h"

namespace cordon::agent {

// Of each stream a model is shown at most so many bytes.
inline constexpr size_t kShownBytes = 50'000;

// `bench` and `jobs` outlive the tools.
std::vector<Tool> CommandTools(const Workbench& bench, Jobs& jobs);

}  // namespace cordon::agent
