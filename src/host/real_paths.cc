#include "host/real_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "sys/fd.h"

namespace cordon::host {
namespace {

FileType TypeOf(mode_t mode) {
  if (S_ISDIR(mode)) return FileType::kDirectory;
  if (S_ISREG(mode)) return FileType::kRegular;
  if (S_ISSOCK(mode)) return FileType::kSocket;
  return FileType::kOther;
}

std::string PathOf(int fd) {
  char link[32];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  char path[PATH_MAX];
  ssize_t length = readlink(link, path, sizeof(path));
  return length < 0 ? std::string() : std::string(path, static_cast<size_t>(length));
}

// -1 with ENOENT if there is no such path; with another error if a symbolic link,
// ".." or a doubled slash is in the way.
int OpenWithoutLinks(const std::string& path) {
  std::string closed = path + "/";
  bool normal = closed.find("//") == std::string::npos && closed.find("/./") == std::string::npos &&
                closed.find("/../") == std::string::npos;
  if (!normal) {
    errno = ELOOP;
    return -1;
  }
  open_how how{.flags = O_PATH | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_NO_SYMLINKS};
  return static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how)));
}

}  // namespace

bool RealPaths::KnownMissing(const std::string& path) const {
  for (size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1)) {
    auto found = listed_.find(slash == 0 ? "/" : path.substr(0, slash));
    if (found == listed_.end()) continue;
    size_t end = path.find('/', slash + 1);
    std::string name = path.substr(slash + 1, end == std::string::npos ? end : end - slash - 1);
    if (!name.empty() && !found->second.contains(name)) return true;
  }
  return false;
}

PathInfo RealPaths::Inspect(const std::string& path) const {
  if (KnownMissing(path)) return {};
  auto [found, fresh] = inspected_.try_emplace(path);
  if (fresh) found->second = InspectNow(path);
  return found->second;
}

PathInfo RealPaths::InspectNow(const std::string& path) {
  // Without a link on the way the path is canonical as it is.
  sys::UniqueFd fd(OpenWithoutLinks(path));
  bool linkless = fd.valid();
  if (!linkless && errno != ENOENT) fd.reset(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) {
    bool missing = errno == ENOENT || errno == ENOTDIR;
    return {.type = missing ? FileType::kMissing : FileType::kUnreachable};
  }
  struct stat status;
  std::string canonical = linkless ? path : PathOf(fd.get());
  if (fstat(fd.get(), &status) != 0 || !canonical.starts_with('/')) {
    return {.type = FileType::kUnreachable};
  }
  // Who owns a file can make it readable; anyone else is as the mode says.
  bool closed =
      status.st_uid != geteuid() && (status.st_mode & S_IROTH) == 0 &&
      faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 &&
      (!S_ISDIR(status.st_mode) || faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0);
  return {.type = TypeOf(status.st_mode),
          .canonical = std::move(canonical),
          .device = (static_cast<uint64_t>(major(status.st_dev)) << 32) | minor(status.st_dev),
          .inode = status.st_ino,
          .owner = status.st_uid,
          .mode = status.st_mode,
          .closed = closed};
}

Trail RealPaths::Follow(const std::string& base, const std::string& below) const {
  constexpr size_t kMostLinks = 40;
  Trail trail;
  std::vector<std::string> rest = base::Split(below, '/');
  std::reverse(rest.begin(), rest.end());
  std::string walked = base == "/" ? "" : base;
  while (!rest.empty()) {
    std::string name = std::move(rest.back());
    rest.pop_back();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      walked.resize(walked.empty() ? 0 : walked.rfind('/'));
      continue;
    }
    std::string next = walked + "/" + name;
    char target[PATH_MAX];
    ssize_t length = KnownMissing(next) ? -1 : readlink(next.c_str(), target, sizeof(target));
    if (length < 0 || trail.links.size() == kMostLinks) {
      walked = std::move(next);
      continue;
    }
    trail.links.emplace_back(next, std::string(target, static_cast<size_t>(length)));
    std::vector<std::string> parts = base::Split(trail.links.back().second, '/');
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
    if (target[0] == '/') walked.clear();
  }
  trail.end = walked.empty() ? "/" : walked;
  return trail;
}

Result<std::vector<DirectoryEntry>> RealPaths::List(const std::string& directory) const {
  DIR* stream = opendir(directory.c_str());
  if (stream == nullptr) {
    if (errno == ENOENT) listed_[directory];  // nothing is in it
    return base::SystemError("opendir " + base::Printable(directory), errno);
  }
  std::vector<DirectoryEntry> entries;
  errno = 0;
  while (dirent* entry = readdir(stream)) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_directory = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {
      struct stat status;
      is_directory = fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISDIR(status.st_mode);
    }
    entries.push_back({std::string(name), is_directory});
    errno = 0;
  }
  int error = errno;
  closedir(stream);
  if (error != 0) return base::SystemError("readdir " + base::Printable(directory), error);
  std::unordered_set<std::string>& names = listed_[directory];
  for (const DirectoryEntry& entry : entries) names.insert(entry.name);
  return entries;
}

Result<std::string> RealPaths::ReadStart(const std::string& path) const {
  sys::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return base::SystemError("open " + base::Printable(path), errno);
  struct stat status;
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return base::SystemError("read " + base::Printable(path), EINVAL);
  }
  std::string text(64 * 1024, '\0');
  ssize_t length = read(fd.get(), text.data(), text.size());
  if (length < 0) return base::SystemError("read " + base::Printable(path), errno);
  text.resize(static_cast<size_t>(length));
  return text;
}

}  // namespace cordon::host
