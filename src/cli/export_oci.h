// What `cordon export oci DIR` writes.
#pragma once

#include <string>

#include "backend/oci/config.h"

namespace cordon::cli {

// Makes `directory`, which may not exist yet, with all that the bundle needs.
// Left as it is where something fails.
Status WriteBundle(const std::string& directory, const backend::OciBundle& bundle);

}  // namespace cordon::cli
