// The tool that reads web pages: fetch_url.
#pragma once

#include "agent/tool.h"
#include "agent/workbench.h"

namespace cordon::agent {

// `bench` outlives the tool.
Tool FetchTool(const Workbench& bench);

}  // namespace cordon::agent
