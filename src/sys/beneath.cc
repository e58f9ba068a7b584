#include "sys/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/strings.h"
#include "sys/uapi.h"

namespace cordon::sys {
namespace {

constexpr int kMostLinks = 40;

Error Failed(std::string_view call, const std::string& path, int error) {
  std::string what = std::string(call) + " " + base::Printable(path);
  if (error == EXDEV) {
    return {.code = Code::kDenied,
            .reason = Reason::kPathOutside,
            .message = what + ": it leads out of the root directory",
            .sys_errno = error,
            .hint = {}};
  }
  bool invalid = error == ELOOP || error == ENAMETOOLONG || error == EINVAL;
  Error failed = base::SystemError(what, error);
  if (invalid) failed.reason = Reason::kPathInvalid;
  if (error == ENOENT) failed.code = Code::kNotFound;
  return failed;
}

Error WrongType(const std::string& path) {
  return {.code = Code::kDenied,
          .reason = Reason::kFileType,
          .message = base::Printable(path) + " is not a regular file",
          .sys_errno = 0,
          .hint = {}};
}

Error TooLarge(const std::string& path, size_t most) {
  return {.code = Code::kResourceExhausted,
          .reason = Reason::kFileTooLarge,
          .message = base::Printable(path) + " is larger than " + std::to_string(most) + " bytes",
          .sys_errno = 0,
          .hint = {}};
}

Result<UniqueFd> Open(int root, const std::string& path, int flags) {
  // The kernel would stop at the NUL and open another file.
  if (path.empty() || path.find('\0') != std::string::npos) return Failed("open", path, EINVAL);
  uapi::OpenHow how{.flags = static_cast<uint64_t>(flags | O_CLOEXEC | O_NOCTTY),
                    .mode = 0,
                    .resolve = uapi::kResolveBeneath | uapi::kResolveNoMagiclinks};
  // EAGAIN: something was renamed while ".." was followed. EINTR as ever.
  long fd = -1;
  for (int attempt = 0; attempt < 100; ++attempt) {
    fd = syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  if (fd < 0) return Failed("open", path, errno);
  return UniqueFd(static_cast<int>(fd));
}

struct Split {
  std::string directory, name;
};

Result<Split> SplitLast(const std::string& path) {
  size_t slash = path.rfind('/');
  Split split{.directory = slash == std::string::npos ? "." : path.substr(0, slash + 1),
              .name = slash == std::string::npos ? path : path.substr(slash + 1)};
  if (path.find('\0') != std::string::npos) return Failed("open", path, EINVAL);
  if (split.name.empty() || split.name == "." || split.name == "..") return WrongType(path);
  return split;
}

// What the link `name` says; nothing if it is not one or is not there.
Result<std::optional<std::string>> ReadLink(int directory, const std::string& name) {
  char target[PATH_MAX];
  ssize_t length = readlinkat(directory, name.c_str(), target, sizeof(target));
  if (length >= 0) return std::optional(std::string(target, static_cast<size_t>(length)));
  if (errno == EINVAL || errno == ENOENT) return std::optional<std::string>();
  return Failed("readlink", name, errno);
}

Status WriteAll(int fd, std::string_view contents) {
  while (!contents.empty()) {
    ssize_t written = write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::SystemError("write", errno);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// A file of its own name, removed again unless it was renamed.
class Temporary {
 public:
  explicit Temporary(int directory) : directory_(directory) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (file_.valid()) unlinkat(directory_, name_, 0);
  }

  Status Create(mode_t mode) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
      return base::SystemError("getrandom", errno);
    }
    snprintf(name_, sizeof(name_), ".cordon-%016llx", static_cast<unsigned long long>(random));
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    file_.reset(openat(directory_, name_, kFlags, mode));
    if (!file_.valid()) return base::SystemError(std::string("create ") + name_, errno);
    return {};
  }
  Status RenameTo(const std::string& name) {
    if (fsync(file_.get()) != 0) return base::SystemError("fsync", errno);
    if (renameat(directory_, name_, directory_, name.c_str()) != 0) {
      return base::SystemError("rename", errno);
    }
    file_.reset();
    if (fsync(directory_) != 0) return base::SystemError("fsync of the directory", errno);
    return {};
  }
  int fd() const { return file_.get(); }

 private:
  int directory_;
  char name_[32] = "";
  UniqueFd file_;
};

// Gives the new file what the old one had.
Status TakeOver(int fd, const struct stat& old) {
  // Only root may give a file away; for others it stays their own.
  if (old.st_uid != geteuid() || old.st_gid != getegid()) {
    if (fchown(fd, old.st_uid, old.st_gid) != 0 && errno != EPERM) {
      return base::SystemError("fchown", errno);
    }
  }
  if (fchmod(fd, old.st_mode & 0777) != 0) return base::SystemError("fchmod", errno);
  return {};
}

// The file that is there, if any; an error if it is not one that may be replaced.
Result<std::optional<struct stat>> Old(const Place& place, const std::string& path) {
  struct stat old{};
  int directory = place.directory.get();
  if (fstatat(directory, place.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<struct stat>();
    return Failed("stat", path, errno);
  }
  if (!S_ISREG(old.st_mode)) return WrongType(path);
  // A rename asks the directory alone.
  if (faccessat(directory, place.name.c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0) {
    return Failed("write", path, errno);
  }
  return std::optional(old);
}

}  // namespace

Result<UniqueFd> OpenRoot(const std::string& directory) {
  if (directory.find('\0') != std::string::npos) return Failed("open", directory, EINVAL);
  UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", directory, errno);
  return fd;
}

Result<UniqueFd> OpenBeneath(int root, const std::string& path) {
  CORDON_ASSIGN_OR_RETURN(UniqueFd fd, Open(root, path, O_RDONLY | O_NONBLOCK));
  struct stat status{};
  if (fstat(fd.get(), &status) != 0) return Failed("stat", path, errno);
  if (!S_ISREG(status.st_mode)) return WrongType(path);
  return fd;
}

Result<UniqueFd> OpenDirectoryBeneath(int root, const std::string& path) {
  return Open(root, path, O_RDONLY | O_DIRECTORY);
}

Result<std::string> ReadBeneath(int root, const std::string& path, size_t most) {
  CORDON_ASSIGN_OR_RETURN(UniqueFd fd, OpenBeneath(root, path));
  struct stat status{};
  if (fstat(fd.get(), &status) != 0) return Failed("stat", path, errno);
  auto size = static_cast<size_t>(status.st_size);
  if (size > most) return TooLarge(path, most);
  std::string contents;
  size_t length = 0;
  // A file of /proc says 0 and has more; one byte more than allowed tells that it grew.
  for (size_t room = size + 1;; room = std::min(most + 1, room * 2 + 4096)) {
    contents.resize(room);
    while (length < room) {
      ssize_t got = read(fd.get(), contents.data() + length, room - length);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed("read", path, errno);
      if (got == 0) return contents.resize(length), contents;
      length += static_cast<size_t>(got);
    }
    if (length > most) return TooLarge(path, most);
  }
}

Result<Place> FindBeneath(int root, const std::string& path) {
  std::string current = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    CORDON_ASSIGN_OR_RETURN(Split split, SplitLast(current));
    CORDON_ASSIGN_OR_RETURN(UniqueFd directory, OpenDirectoryBeneath(root, split.directory));
    CORDON_ASSIGN_OR_RETURN(auto target, ReadLink(directory.get(), split.name));
    if (!target) return Place{.directory = std::move(directory), .name = std::move(split.name)};
    if (target->starts_with('/')) return Failed("open", path, EXDEV);
    current = split.directory + "/" + *target;
  }
  return Failed("open", path, ELOOP);
}

Status MakeDirectoriesBeneath(int root, const std::string& path) {
  if (path.starts_with('/')) return Failed("mkdir", path, EXDEV);
  CORDON_ASSIGN_OR_RETURN(UniqueFd above, OpenDirectoryBeneath(root, "."));
  for (size_t start = 0; start < path.size();) {
    size_t end = std::min(path.find('/', start), path.size());
    std::string name = path.substr(start, end - start);
    start = end + 1;
    if (name.empty()) continue;
    // From the root each time, so that ".." and links are held beneath it.
    std::string walked = path.substr(0, end);
    Result<UniqueFd> next = OpenDirectoryBeneath(root, walked);
    if (!next && next.error().sys_errno == ENOENT) {
      if (mkdirat(above.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
        return Failed("mkdir", walked, errno);
      }
      next = OpenDirectoryBeneath(root, walked);
    }
    if (!next) return std::move(next).error();
    above = std::move(*next);
  }
  return {};
}

Status WriteBeneath(int root, const std::string& path, std::string_view contents, mode_t new_mode) {
  CORDON_ASSIGN_OR_RETURN(Place place, FindBeneath(root, path));
  CORDON_ASSIGN_OR_RETURN(std::optional<struct stat> old, Old(place, path));
  Temporary file(place.directory.get());
  Status written = file.Create(old ? 0600 : new_mode);
  if (written && old) written = TakeOver(file.fd(), *old);
  if (written) written = WriteAll(file.fd(), contents);
  if (written) written = file.RenameTo(place.name);
  if (!written) return std::move(written).error().Within("write " + base::Printable(path));
  return {};
}

}  // namespace cordon::sys
