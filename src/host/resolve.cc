#include "host/resolve.h"

#include <algorithm>

namespace cordon::host {

Resolution Resolve(const PathProbe& probe, const std::string& path) {
  Resolution found{.path = {}, .info = probe.Inspect(path), .links = {}};
  Trail trail = probe.Follow("/", path);
  found.path = found.info.exists() ? found.info.canonical : std::move(trail.end);
  found.links = std::move(trail.links);
  return found;
}

std::string DeepestExisting(const PathProbe& probe, const std::string& path) {
  std::string at = path;
  while (at != "/" && !probe.Inspect(at).exists()) {
    at.resize(std::max<size_t>(1, at.rfind('/')));
  }
  return at;
}

}  // namespace cordon::host
