// Where this process may make cgroups for its runs.
#pragma once

#include <string>
#include <string_view>

namespace cordon::host {

// Directories in which one can be made for each resource; empty: nowhere.
struct CgroupHome {
  int version = 0;  // 1 or 2; 0 if both are empty
  std::string memory;
  std::string processes;  // the same as `memory` in version 2
  bool operator==(const CgroupHome&) const = default;
};

// `mounts`: where the hierarchies are, `self`: the text of /proc/self/cgroup. A run's
// cgroup is never outside of what limits this process: below its own cgroup, or beside
// it where version 2 wants a cgroup with processes to have no others below.
CgroupHome FindCgroupHome(const std::string& mounts, std::string_view self);
CgroupHome FindCgroupHome();

}  // namespace cordon::host
