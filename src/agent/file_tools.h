// The tools for single files and directories: read_file, write_file, edit_file,
// list_dir, stat, send_file.
#pragma once

#include <vector>

#include "agent/tool.h"
#include "agent/workbench.h"

namespace cordon::agent {

// `bench` outlives the tools.
std::vector<Tool> FileTools(const Workbench& bench);

// "text/x-python"; by the name's ending, or else by the bytes.
std::string MimeTypeOf(std::string_view name, std::string_view bytes);

}  // namespace cordon::agent
