#include "host/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/strings.h"

namespace cordon::host {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

bool Writable(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

// The path of this process in the hierarchy of `controller` ("" is version 2).
std::string PathOf(std::string_view self, std::string_view controller) {
  for (const std::string& line : base::Split(self, '\n')) {
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (std::string_view(line).substr(first + 1, second - first - 1) != controller) continue;
    std::string path = line.substr(second + 1);
    return path == "/" ? "" : path;
  }
  return "?";  // no such directory
}

std::string OwnV1(const std::string& mounts, std::string_view self, const std::string& controller,
                  const std::string& limit) {
  std::string directory = mounts + "/" + controller + PathOf(self, controller);
  bool usable = access((directory + "/" + limit).c_str(), F_OK) == 0 && Writable(directory);
  return usable ? directory : "";
}

// Children get only those controllers that their parent passes on.
bool PassesOn(const std::string& directory, std::string_view controller) {
  std::vector<std::string> list = base::Split(ReadAll(directory + "/cgroup.subtree_control"), ' ');
  return std::ranges::find(list, controller) != list.end();
}

std::string OwnV2(const std::string& root, std::string_view self) {
  std::string own = root + PathOf(self, "");
  std::vector<std::string> candidates = {own};
  if (own != root) candidates.push_back(own.substr(0, own.rfind('/')));
  for (const std::string& directory : candidates) {
    if (PassesOn(directory, "memory") && PassesOn(directory, "pids") && Writable(directory) &&
        Writable(directory + "/cgroup.procs")) {
      return directory;
    }
  }
  return {};
}

}  // namespace

CgroupHome FindCgroupHome(const std::string& mounts, std::string_view self) {
  for (const std::string& root : {mounts, mounts + "/unified"}) {
    std::string directory = OwnV2(root, self);
    if (!directory.empty()) return {.version = 2, .memory = directory, .processes = directory};
  }
  CgroupHome home{.version = 1,
                  .memory = OwnV1(mounts, self, "memory", "memory.limit_in_bytes"),
                  // The root of this hierarchy has no limit of its own.
                  .processes = OwnV1(mounts, self, "pids", "cgroup.procs")};
  if (home.memory.empty() && home.processes.empty()) home.version = 0;
  return home;
}

CgroupHome FindCgroupHome() {
  return FindCgroupHome("/sys/fs/cgroup", ReadAll("/proc/self/cgroup"));
}

}  // namespace cordon::host
