#include "host/resolve.h"

#include <algorithm>

#include "base/strings.h"

namespace cordon::host {
namespace {

using Links = std::vector<std::pair<std::string, std::string>>;

// The kernel follows no more than 40 links; `links` is not longer, so neither
// is this walk.
std::string Walk(const std::string& path, const Links& links) {
  std::vector<std::string> parts = base::Split(path, '/');
  std::vector<std::string> rest(parts.rbegin(), parts.rend());
  std::string walked;
  size_t followed = 0;
  while (!rest.empty()) {
    std::string name = std::move(rest.back());
    rest.pop_back();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      walked.resize(walked.empty() ? 0 : walked.rfind('/'));
      continue;
    }
    std::string next = walked + "/" + name;
    if (followed == links.size() || links[followed].first != next) {
      walked = std::move(next);
      continue;
    }
    const std::string& target = links[followed++].second;
    std::vector<std::string> inserted = base::Split(target, '/');
    rest.insert(rest.end(), inserted.rbegin(), inserted.rend());
    if (target.starts_with('/')) walked.clear();
  }
  return walked.empty() ? "/" : walked;
}

}  // namespace

Resolution Resolve(const PathProbe& probe, const std::string& path) {
  Resolution found{.path = {}, .info = probe.Inspect(path), .links = probe.Links(path)};
  found.path = found.info.exists() ? found.info.canonical : Walk(path, found.links);
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
