// Runs in: supervisor, broker thread.
#include "spawn/name_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "guard/path.h"
#include "plan/rules.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

constexpr int kMaxLinks = 40;
constexpr mode_t kSetIdBits = S_ISUID | S_ISGID;

std::unexpected<int> Fail(int error) { return std::unexpected(error); }

Answer<void> Done(long result) {
  if (result < 0) return Fail(errno);
  return {};
}

// Opens without ever blocking, then takes O_NONBLOCK off again if it was not
// asked for.
Answer<sys::UniqueFd> OpenNow(int directory, const char* name, int flags, mode_t mode) {
  int fd = openat(directory, name, flags | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, mode);
  if (fd < 0) return Fail(errno);
  sys::UniqueFd opened(fd);
  if ((flags & O_NONBLOCK) == 0) {
    int status = fcntl(fd, F_GETFL);
    if (status < 0 || fcntl(fd, F_SETFL, status & ~O_NONBLOCK) < 0) return Fail(EIO);
  }
  return opened;
}

bool IsGitConfig(std::string_view path) {
  if (path.ends_with("/.gitmodules")) return true;
  return path.find("/.git/") != std::string_view::npos &&
         (path.ends_with("/config") || path.ends_with("/config.worktree"));
}

bool Reads(int flags) { return (flags & O_ACCMODE) != O_WRONLY; }
bool Writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

}  // namespace

void NameMaker::NoteRepository(const Place& place) {
  constexpr size_t kMost = 100;
  bool known = std::ranges::find(new_repositories, place.path) != new_repositories.end();
  if (place.name == ".git" && !known && new_repositories.size() < kMost) {
    new_repositories.push_back(place.path);
  }
}

bool NameMaker::Writable(const std::string& path) const {
  if (gate_ != nullptr) return gate_->MayChange(path).has_value();
  if (guard::IsInside(path, "/dev/shm")) return true;
  const plan::Region* region = plan::RegionOf(fs_.regions, path);
  return region != nullptr && region->rights == plan::Rights::kReadWrite;
}

Answer<void> NameMaker::Permit(const Place& place, const char* operation, plan::Creation creation) {
  if (const plan::ProtectedName* name = plan::ViolatedName(fs_.names, place.path, creation)) {
    bool floor = name->kind == plan::RuleKind::kFloor;
    violations_.Add(floor ? Reason::kFloorName : Reason::kDeniedNewName, operation, place.path,
                    std::string(plan::RuleKindName(name->kind)) + " " + name->origin.ToString(),
                    IsGitConfig(place.path) ? "fs.git = \"allow-config\" would allow it" : "");
    return Fail(EPERM);
  }
  if (!Writable(place.path)) return Fail(EROFS);
  return {};
}

Answer<sys::UniqueFd> NameMaker::Open(const Caller& caller, OpenRequest request,
                                      sys::UniqueFd& blocking) {
  int flags = request.flags;
  bool creates = (flags & O_CREAT) != 0;
  if (creates && (flags & O_DIRECTORY) != 0) return Fail(EINVAL);  // also O_TMPFILE with O_CREAT
  if ((request.mode & kSetIdBits) != 0) {
    violations_.Add(Reason::kSetuidMode, "create", request.path, "floor built in");
    return Fail(EPERM);
  }
  for (int links = 0; links <= kMaxLinks; ++links) {
    Answer<Place> place = caller.Locate(request.directory, request.path);
    if (!place) return Fail(place.error() == EEXIST ? EISDIR : place.error());
    if (place->trailing_slash && creates) return Fail(EISDIR);
    if (OnProc(place->parent.get())) return OpenOnProc(caller, *place, flags, blocking);
    struct stat status;
    bool exists =
        fstatat(place->parent.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && errno != ENOENT) return Fail(errno);
    if (exists && S_ISLNK(status.st_mode)) {
      if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Fail(EEXIST);
      if ((flags & O_NOFOLLOW) != 0) return Fail(ELOOP);
      char target[PATH_MAX];
      ssize_t length = readlinkat(place->parent.get(), place->name.c_str(), target, sizeof(target));
      if (length <= 0) continue;  // replaced meanwhile
      std::string_view text(target, static_cast<size_t>(length));
      request.path = guard::JoinPath(guard::Parent(place->path), text);
      continue;
    }
    if (exists) {
      if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Fail(EEXIST);
      // Its read-only mount is gone if the host replaced the file meanwhile.
      const plan::ProtectedName* name =
          Writes(flags) ? plan::ViolatedName(fs_.names, place->path, plan::Creation::kEmpty)
                        : nullptr;
      if (name != nullptr && name->kind == plan::RuleKind::kFloor) return Fail(EROFS);
      Answer<sys::UniqueFd> opened =
          files_ != nullptr ? OpenFound(caller, *place, flags, blocking)
                            : OpenExisting(caller, *place, flags, status.st_mode & S_IFMT,
                                           status.st_rdev, blocking);
      if (!opened && (opened.error() == ENOENT || opened.error() == ELOOP)) continue;
      return opened;
    }
    if ((flags & O_CREAT) == 0) return Fail(ENOENT);
    if (Answer<void> permit = Permit(*place, "create", plan::Creation::kEmpty); !permit) {
      return Fail(permit.error());
    }
    // Exclusive, so that what is opened is what was just made.
    Answer<sys::UniqueFd> made =
        OpenNow(place->parent.get(), place->name.c_str(), flags | O_EXCL, request.mode & 07777);
    if (!made && made.error() == EEXIST) continue;
    if (made) NoteRepository(*place);
    return made;
  }
  return Fail(ELOOP);
}

Answer<sys::UniqueFd> NameMaker::OpenExisting(const Caller& caller, const Place& place, int flags,
                                              mode_t type, dev_t device, sys::UniqueFd& blocking) {
  flags &= ~(O_CREAT | O_EXCL);
  if (type == S_IFDIR) return Fail(EISDIR);
  if (type == S_IFSOCK) return Fail(ENXIO);
  // /dev/tty is the opener's own terminal: not the supervisor's.
  if (type == S_IFCHR && major(device) == 5 && minor(device) == 0) {
    return OpenTerminal(caller, flags);
  }
  if (type == S_IFIFO && (flags & O_NONBLOCK) == 0) {
    int fd = openat(place.parent.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return Fail(errno);
    blocking.reset(fd);
    return Fail(EINPROGRESS);
  }
  Answer<sys::UniqueFd> opened = OpenNow(place.parent.get(), place.name.c_str(), flags, 0);
  if (!opened) return opened;
  struct stat status;
  // Another kind of file than was judged: look again.
  if (fstat(opened->get(), &status) != 0 || (status.st_mode & S_IFMT) != type ||
      status.st_rdev != device) {
    return Fail(ENOENT);
  }
  return opened;
}

Answer<sys::UniqueFd> NameMaker::OpenFound(const Caller& caller, const Place& place, int flags,
                                           sys::UniqueFd& blocking) {
  sys::UniqueFd file(
      openat(place.parent.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return Fail(errno);
  if ((flags & O_CREAT) != 0) {
    struct stat status;
    if (fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) return Fail(EISDIR);
  }
  return files_->OpenFound(caller, std::move(file), flags, blocking);
}

Answer<sys::UniqueFd> NameMaker::OpenTerminal(const Caller& caller, int flags) {
  unsigned terminal = caller.ControllingTerminal();
  // The kernel packs a device number as minor[31:20], major[15:8], minor[7:0].
  unsigned major_number = (terminal >> 8) & 0xff;
  unsigned minor_number = (terminal & 0xff) | ((terminal >> 12) & 0xfff00);
  constexpr unsigned kFirstPtsMajor = 136, kLastPtsMajor = 143;
  if (major_number < kFirstPtsMajor || major_number > kLastPtsMajor) return Fail(ENXIO);
  unsigned number = minor_number + (major_number - kFirstPtsMajor) * 256;
  Answer<Place> place = caller.Locate(AT_FDCWD, "/dev/pts/" + std::to_string(number));
  if (!place) return Fail(ENXIO);
  return OpenNow(place->parent.get(), place->name.c_str(), flags, 0);
}

// Nothing is ever created in /proc. What a program means there is a descriptor
// of its own (/dev/stdout). No other file is opened there for a caller: the
// supervisor owns its user namespace and would lend it that power.
Answer<sys::UniqueFd> NameMaker::OpenOnProc(const Caller& caller, const Place& place, int flags,
                                            sys::UniqueFd& blocking) {
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Fail(EEXIST);
  flags &= ~O_CREAT;
  std::string own = "/proc/" + std::to_string(caller.InnerPid());
  std::string directory(guard::Parent(place.path));
  if (directory != own + "/fd") {
    if (files_ == nullptr) return Fail(EACCES);
    bool follow = (flags & O_NOFOLLOW) == 0;
    Answer<sys::UniqueFd> file =
        caller.Reach(AT_FDCWD, place.path, follow ? Follow::kLast : Follow::kNot);
    if (!file) return Fail(file.error());
    return files_->OpenFound(caller, std::move(*file), flags, blocking);
  }
  Answer<sys::UniqueFd> held = caller.Duplicate(atoi(place.name.c_str()));
  if (!held && gate_ != nullptr) return OpenHeld(caller, atoi(place.name.c_str()), flags, blocking);
  if (!held) return Fail(ENOENT);
  struct stat status;
  if (fstat(held->get(), &status) != 0) return Fail(EBADF);
  if (S_ISSOCK(status.st_mode)) return Fail(ENXIO);
  // A file that the caller can reach by its name is opened anew, as the kernel
  // would; otherwise it gets what it has, with no more rights than it has.
  std::string path = PathOf(held->get());
  if (path.starts_with('/') && !guard::IsInside(path, "/proc")) {
    Answer<sys::UniqueFd> found = caller.Find(AT_FDCWD, path);
    struct stat seen;
    bool may = gate_ == nullptr || gate_->MayRead(path);
    if (may && found && fstat(found->get(), &seen) == 0 && seen.st_dev == status.st_dev &&
        seen.st_ino == status.st_ino) {
      return Open(caller, {AT_FDCWD, path, flags, 0}, blocking);
    }
  }
  int has = fcntl(held->get(), F_GETFL);
  if (has < 0 || (Reads(flags) && !Reads(has)) || (Writes(flags) && !Writes(has))) {
    return Fail(EACCES);
  }
  if ((flags & O_TRUNC) != 0 && S_ISREG(status.st_mode) && ftruncate(held->get(), 0) != 0) {
    return Fail(errno);
  }
  return held;
}

// Where no descriptor can be taken: a pipe is opened anew, as the kernel would.
Answer<sys::UniqueFd> NameMaker::OpenHeld(const Caller& caller, int descriptor, int flags,
                                          sys::UniqueFd& blocking) {
  Answer<sys::UniqueFd> held = caller.Held(descriptor);
  struct stat status;
  if (!held || fstat(held->get(), &status) != 0) return Fail(ENOENT);
  bool pipe = S_ISFIFO(status.st_mode) && !PathOf(held->get()).starts_with('/');
  if (!pipe) return files_->OpenFound(caller, std::move(*held), flags, blocking);
  blocking = std::move(*held);
  return Fail(EINPROGRESS);
}

Answer<void> NameMaker::MakeDirectory(const Caller& caller, int directory, const std::string& path,
                                      mode_t mode) {
  Answer<Place> place = caller.Locate(directory, path);
  if (!place) return Fail(place.error());
  struct stat status;
  if (fstatat(place->parent.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return Fail(EEXIST);
  }
  if (Answer<void> permit = Permit(*place, "create", plan::Creation::kEmpty); !permit) {
    return permit;
  }
  Answer<void> made = Done(mkdirat(place->parent.get(), place->name.c_str(), mode & 01777));
  if (made) NoteRepository(*place);
  return made;
}

Answer<void> NameMaker::MakeNode(const Caller& caller, int directory, const std::string& path,
                                 mode_t mode) {
  mode_t type = mode & S_IFMT;
  if (type == 0) type = S_IFREG;
  bool device = type != S_IFREG && type != S_IFIFO && type != S_IFSOCK;
  if (device || (mode & kSetIdBits) != 0) return Fail(EPERM);
  Answer<Place> place = caller.Locate(directory, path);
  if (!place) return Fail(place.error());
  if (place->trailing_slash) return Fail(ENOENT);
  if (Answer<void> permit = Permit(*place, "create", plan::Creation::kEmpty); !permit) {
    return permit;
  }
  return Done(mknodat(place->parent.get(), place->name.c_str(), type | (mode & 0777), 0));
}

Answer<void> NameMaker::MakeSymlink(const Caller& caller, const std::string& target, int directory,
                                    const std::string& path) {
  if (target.empty()) return Fail(ENOENT);
  Answer<Place> place = caller.Locate(directory, path);
  if (!place) return Fail(place.error());
  if (place->trailing_slash) return Fail(ENOENT);
  if (Answer<void> permit = Permit(*place, "create", plan::Creation::kWithContent); !permit) {
    return permit;
  }
  NoteRepository(*place);
  return Done(symlinkat(target.c_str(), place->parent.get(), place->name.c_str()));
}

Answer<void> NameMaker::Link(const Caller& caller, int from_directory, const std::string& from,
                             int to_directory, const std::string& to, int flags) {
  if ((flags & ~(AT_EMPTY_PATH | AT_SYMLINK_FOLLOW)) != 0) return Fail(EINVAL);
  Answer<Place> target = caller.Locate(to_directory, to);
  if (!target) return Fail(target.error());
  if (target->trailing_slash) return Fail(ENOENT);
  if (Answer<void> permit = Permit(*target, "link", plan::Creation::kWithContent); !permit) {
    return permit;
  }
  int held = -1;  // a descriptor of the caller, as for a file made with O_TMPFILE
  if (from.empty() && (flags & AT_EMPTY_PATH) != 0) {
    held = from_directory;
  } else {
    Answer<Place> source = caller.Locate(from_directory, from);
    if (!source) return Fail(source.error() == EEXIST ? EPERM : source.error());
    if (source->trailing_slash) return Fail(ENOTDIR);
    std::string own = "/proc/" + std::to_string(caller.InnerPid()) + "/fd";
    if (!OnProc(source->parent.get())) {
      if ((flags & AT_SYMLINK_FOLLOW) != 0) {
        Answer<sys::UniqueFd> found = caller.Find(from_directory, from);
        if (!found) return Fail(found.error());
        source = caller.Locate(AT_FDCWD, PathOf(found->get()));
        if (!source) return Fail(source.error());
      }
      if (Answer<void> may = MayLink(source->path, target->path); !may) return may;
      return Done(linkat(source->parent.get(), source->name.c_str(), target->parent.get(),
                         target->name.c_str(), 0));
    }
    if ((flags & AT_SYMLINK_FOLLOW) == 0 || guard::Parent(source->path) != own) {
      return Fail(EXDEV);
    }
    held = atoi(source->name.c_str());
  }
  // Of a descriptor that is only held, without namespaces, the path tells.
  Answer<sys::UniqueFd> file = gate_ != nullptr ? caller.Held(held) : caller.Duplicate(held);
  if (!file) return Fail(file.error());
  struct stat status;
  if (gate_ != nullptr && fstat(file->get(), &status) == 0 && status.st_nlink > 0) {
    if (Answer<void> may = MayLink(PathOf(file->get()), target->path); !may) return may;
  }
  char path[32];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", file->get());
  return Done(
      linkat(AT_FDCWD, path, target->parent.get(), target->name.c_str(), AT_SYMLINK_FOLLOW));
}

// Another name of a file must not lead round what its first one is kept from.
Answer<void> NameMaker::MayLink(const std::string& from, const std::string& to) const {
  if (gate_ == nullptr) return {};
  if (Answer<void> may = gate_->MayChange(from); !may) return Fail(EXDEV);
  if (!gate_->SameRegion(from, to)) return Fail(EXDEV);
  return {};
}

Answer<void> NameMaker::Rename(const Caller& caller, int from_directory, const std::string& from,
                               int to_directory, const std::string& to, unsigned flags) {
  Answer<Place> source = caller.Locate(from_directory, from);
  if (!source) return Fail(source.error() == EEXIST ? EBUSY : source.error());
  Answer<Place> target = caller.Locate(to_directory, to);
  if (!target) return Fail(target.error() == EEXIST ? EBUSY : target.error());
  constexpr unsigned kNoReplace = 1, kExchange = 2;
  if ((flags & ~(kNoReplace | kExchange)) != 0) return Fail(EINVAL);  // whiteouts are device nodes
  plan::Creation back =
      (flags & kExchange) != 0 ? plan::Creation::kWithContent : plan::Creation::kEmpty;
  if (Answer<void> permit = Permit(*source, "rename", back); !permit) return permit;
  if (Answer<void> permit = Permit(*target, "rename", plan::Creation::kWithContent); !permit) {
    return permit;
  }
  // The kernel keeps mount points of the caller's own namespace from being
  // renamed; the supervisor is in another one.
  auto mounted = [&](const Place& place) {
    return std::ranges::any_of(
        fs_.regions, [&](const plan::Region& region) { return region.path == place.path; });
  };
  if (mounted(*source) || mounted(*target)) return Fail(EBUSY);
  if (gate_ != nullptr && !gate_->SameRegion(source->path, target->path)) return Fail(EXDEV);
  std::string from_name = source->name + (source->trailing_slash ? "/" : "");
  std::string to_name = target->name + (target->trailing_slash ? "/" : "");
  NoteRepository(*target);
  return Done(syscall(SYS_renameat2, source->parent.get(), from_name.c_str(), target->parent.get(),
                      to_name.c_str(), flags));
}

}  // namespace cordon::spawn
