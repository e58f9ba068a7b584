// The PathProbe of this machine. It remembers what it saw, and the directories
// that it listed, so that asking for the many names that are not there costs no
// system call each. Made for one plan, used by one thread.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "host/path_probe.h"

namespace cordon::host {

class RealPaths final : public PathProbe {
 public:
  PathInfo Inspect(const std::string& path) const override;
  Trail Follow(const std::string& base, const std::string& below) const override;
  Result<std::vector<DirectoryEntry>> List(const std::string& directory) const override;
  Result<std::string> ReadStart(const std::string& path) const override;

 private:
  static PathInfo InspectNow(const std::string& path);
  bool KnownMissing(const std::string& path) const;
  mutable std::unordered_map<std::string, std::unordered_set<std::string>> listed_;
  mutable std::unordered_map<std::string, PathInfo> inspected_;
};

}  // namespace cordon::host
