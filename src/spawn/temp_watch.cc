// Runs in: supervisor.
#include "spawn/temp_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "sys/fd.h"

namespace cordon::spawn {
namespace {

using Clock = std::chrono::steady_clock;

// Bytes of `directory` alone; directories in it are added to `rest`.
uint64_t Used(const std::string& directory, std::vector<std::string>& rest) {
  // Never through a link: the names in here are the command's.
  sys::UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DIR* stream = fd.valid() ? fdopendir(fd.get()) : nullptr;
  if (stream == nullptr) return 0;
  uint64_t used = 0;
  while (dirent* entry = readdir(stream)) {
    std::string_view name = entry->d_name;
    struct stat status;
    if (name == "." || name == ".." ||
        fstatat(fd.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    constexpr uint64_t kBlock = 512;
    used += static_cast<uint64_t>(status.st_blocks) * kBlock;
    if (S_ISDIR(status.st_mode)) rest.push_back(directory + "/" + entry->d_name);
  }
  static_cast<void>(fd.release());
  closedir(stream);
  return used;
}

}  // namespace

void TempWatch::WatchMounts(int root, std::initializer_list<const char*> paths) {
  constexpr long kTmpfs = 0x01021994;
  for (const char* path : paths) {
    sys::UniqueFd fd(openat(root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct statfs status;
    if (!fd.valid() || fstatfs(fd.get(), &status) != 0 || status.f_type != kTmpfs) continue;
    mounts_.push_back(std::move(fd));
  }
}

bool TempWatch::Exceeded() {
  Clock::time_point began = Clock::now();
  uint64_t used = 0;
  for (const sys::UniqueFd& mount : mounts_) {
    struct statfs status;
    if (fstatfs(mount.get(), &status) != 0) continue;
    used += (status.f_blocks - status.f_bfree) * static_cast<uint64_t>(status.f_bsize);
  }
  std::vector<std::string> rest;
  if (!directory_.empty()) rest = {directory_ + "/tmp", directory_ + "/shm"};
  while (!rest.empty() && used <= limit_) {
    std::string next = std::move(rest.back());
    rest.pop_back();
    used += Used(next, rest);
  }
  auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  interval_ = std::max(std::chrono::milliseconds(20), took * 20);
  return used > limit_;
}

}  // namespace cordon::spawn
