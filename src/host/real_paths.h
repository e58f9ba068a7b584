// The PathProbe of this machine.
#pragma once

#include "host/path_probe.h"

namespace cordon::host {

class RealPaths final : public PathProbe {
 public:
  PathInfo Inspect(const std::string& path) const override;
  std::vector<std::pair<std::string, std::string>> Links(const std::string& path) const override;
  Result<std::vector<DirectoryEntry>> List(const std::string& directory) const override;
  Result<std::string> ReadStart(const std::string& path) const override;
};

}  // namespace cordon::host
