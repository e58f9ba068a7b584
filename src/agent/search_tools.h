// The tools that search: glob and grep.
#pragma once

#include <vector>

#include "agent/tool.h"
#include "agent/workbench.h"

namespace cordon::agent {

// `bench` outlives the tools.
std::vector<Tool> SearchTools(const Workbench& bench);

}  // namespace cordon::agent
