#include "sys/resolve_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/strings.h"
#include "sys/fd.h"

namespace cordon::sys {
namespace {

constexpr size_t kMostLinks = 40;  // as the kernel's
constexpr int kMostEntries = 20'000;

Error Invalid(std::string_view path, int error) {
  std::string shown = base::Printable(base::Utf8Prefix(path, 200));
  Error invalid = base::SystemError("resolve \"" + shown + "\"", error, Reason::kPathInvalid);
  invalid.code = Code::kInvalidArgument;
  return invalid;
}

Status CheckText(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != path.npos) return Invalid(path, EINVAL);
  if (path.size() >= PATH_MAX) return Invalid(path, ENAMETOOLONG);
  return {};
}

// "/proc/12/…", but not "/proc/self" itself.
bool IsOfProcess(std::string_view link) {
  if (!link.starts_with("/proc/")) return false;
  link.remove_prefix(6);
  size_t slash = link.find('/');
  return slash != link.npos && std::all_of(link.begin(), link.begin() + static_cast<long>(slash),
                                           [](char c) { return c >= '0' && c <= '9'; });
}

// File systems that never tell "A" from "a": FAT, exFAT, SMB, NTFS.
bool IgnoresCase(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct statfs status{};
  if (!fd.valid() || fstatfs(fd.get(), &status) != 0) return false;
  constexpr unsigned long kFolding[] = {0x4d44, 0x2011bab0, 0xff534d42, 0xfe534d42, 0x5346544e};
  auto type = static_cast<unsigned long>(status.f_type) & 0xffffffff;
  if (std::ranges::find(kFolding, type) != std::end(kFolding)) return true;
  int flags = 0;  // ext4 and f2fs fold by directory
  return ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0;
}

std::string Text(const std::string& walked, const std::vector<std::string>& rest) {
  std::string path = walked;
  for (size_t i = rest.size(); i-- > 0;) {
    if (rest[i] == "..") {
      path.resize(path.empty() ? 0 : path.rfind('/'));
    } else if (!rest[i].empty() && rest[i] != ".") {
      path += "/" + rest[i];
    }
  }
  return path.empty() ? "/" : path;
}

// One walk from the root to the end. `rest_` is what is left, the next one last.
class Walk {
 public:
  explicit Walk(std::string_view path) : given_(path) { Push(path); }

  Result<ResolvedPath> Run() {
    resolved_.hops.push_back(Text("", rest_));
    while (!rest_.empty()) {
      std::string name = std::move(rest_.back());
      rest_.pop_back();
      CORDON_TRY(Step(name));
    }
    Finish();
    return std::move(resolved_);
  }

 private:
  void Push(std::string_view path) {
    std::vector<std::string> names = base::Split(path, '/');
    rest_.insert(rest_.end(), names.rbegin(), names.rend());
  }

  Status Step(const std::string& name) {
    if (name.empty() || name == ".") return {};
    if (name == "..") {
      walked_.resize(walked_.empty() ? 0 : walked_.rfind('/'));
      // Back on what exists, links count again.
      if (missing_ && walked_.size() <= existing_.size()) missing_ = false;
      return {};
    }
    if (name.size() > NAME_MAX) return Invalid(given_, ENAMETOOLONG);
    std::string next = walked_ + "/" + name;
    if (next.size() >= PATH_MAX) return Invalid(given_, ENAMETOOLONG);
    if (missing_) return Take(std::move(next));
    return Look(std::move(next));
  }

  Status Take(std::string next) {
    walked_ = std::move(next);
    return {};
  }

  Status Look(std::string next) {
    struct stat status{};
    if (lstat(next.c_str(), &status) != 0) {
      if (errno != ENOENT && errno != ENOTDIR) {
        return base::SystemError("lstat " + base::Printable(next), errno);
      }
      missing_ = true;
      existing_ = walked_;
      return Take(std::move(next));
    }
    if (S_ISLNK(status.st_mode)) return Follow(next);
    resolved_.links = S_ISREG(status.st_mode) ? status.st_nlink : 0;
    return Take(std::move(next));
  }

  Status Follow(const std::string& link) {
    char target[PATH_MAX];
    ssize_t length = readlink(link.c_str(), target, sizeof(target));
    if (length < 0) return base::SystemError("readlink " + base::Printable(link), errno);
    if (++followed_ > kMostLinks) return Invalid(given_, ELOOP);
    if (static_cast<size_t>(length) >= sizeof(target)) return Invalid(given_, ENAMETOOLONG);
    resolved_.by_process = resolved_.by_process || IsOfProcess(link);
    if (target[0] == '/') walked_.clear();
    Push(std::string_view(target, static_cast<size_t>(length)));
    resolved_.hops.push_back(Text(walked_, rest_));
    return {};
  }

  void Finish() {
    auto or_root = [](const std::string& path) { return path.empty() ? "/" : path; };
    if (missing_) resolved_.links = 0;
    resolved_.path = or_root(walked_);
    resolved_.ancestor = or_root(missing_ ? existing_ : walked_);
    resolved_.ignores_case = IgnoresCase(resolved_.ancestor);
    if (resolved_.hops.back() != resolved_.path) resolved_.hops.push_back(resolved_.path);
  }

  std::string_view given_;
  std::vector<std::string> rest_;
  std::string walked_;  // "" is the root
  bool missing_ = false;
  std::string existing_;  // where nothing more was found
  size_t followed_ = 0;
  ResolvedPath resolved_;
};

}  // namespace

Result<ResolvedPath> ResolvePath(std::string_view path) {
  CORDON_TRY(CheckText(path));
  return Walk(path).Run();
}

Result<std::optional<std::string>> FindSymlink(std::string_view path) {
  CORDON_TRY(CheckText(path));
  for (size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    std::string prefix(path.substr(0, end));
    struct stat status{};
    if (lstat(prefix.c_str(), &status) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) break;
      return base::SystemError("lstat " + base::Printable(prefix), errno);
    }
    if (S_ISLNK(status.st_mode)) return std::optional(prefix);
  }
  return std::optional<std::string>();
}

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status{};
  if (path.empty() || stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{.device = status.st_dev, .inode = status.st_ino};
}

bool HoldsFile(const std::string& directory, const FileIdentity& file) {
  namespace fs = std::filesystem;
  if (IdentityOf(directory) == file) return true;
  std::error_code error;
  int left = kMostEntries;
  fs::recursive_directory_iterator entry(directory, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (left-- == 0 || IdentityOf(entry->path()) == file) return true;
  }
  return static_cast<bool>(error) && error != std::errc::no_such_file_or_directory &&
         error != std::errc::not_a_directory;
}

}  // namespace cordon::sys
