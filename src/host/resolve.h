// Where a path leads, as the kernel would walk it, also when its end is not
// there yet.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/path_probe.h"

namespace cordon::host {

struct Resolution {
  // No symbolic link in it, a dangling one followed: what does not exist of it
  // is as written. Where a directory may not be searched, neither link below it
  // is known.
  std::string path;
  PathInfo info;  // of what is there: kMissing or kUnreachable if nothing is
  std::vector<std::pair<std::string, std::string>> links;  // met on the way, with their targets
  bool operator==(const Resolution&) const = default;
};

// `path` is absolute.
Resolution Resolve(const PathProbe& probe, const std::string& path);

// The deepest ancestor of resolved `path` that exists, or `path` itself.
std::string DeepestExisting(const PathProbe& probe, const std::string& path);

}  // namespace cordon::host
