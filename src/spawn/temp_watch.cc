// Runs in: supervisor.
#include "spawn/temp_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
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

bool TempWatch::Exceeded() {
  Clock::time_point began = Clock::now();
  uint64_t used = 0;
  std::vector<std::string> rest = {directory_ + "/tmp", directory_ + "/shm"};
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
