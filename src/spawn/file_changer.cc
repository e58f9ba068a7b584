// Runs in: supervisor, broker thread.
#include "spawn/file_changer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

// Calls that newer architectures do not have get numbers that never come.
#ifndef __NR_unlink
#define __NR_unlink (-11)
#define __NR_rmdir (-12)
#define __NR_chmod (-13)
#define __NR_chown (-14)
#define __NR_lchown (-15)
#define __NR_utime (-16)
#define __NR_utimes (-17)
#define __NR_futimesat (-18)
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

namespace cordon::spawn {
namespace {

std::unexpected<int> Fail(int error) { return std::unexpected(error); }

Answer<void> Done(long result) {
  if (result < 0) return Fail(errno);
  return {};
}

template <typename T>
Answer<T> ReadValue(const Caller& caller, uint64_t address) {
  T value;
  Answer<std::string> bytes = caller.ReadBytes(address, sizeof(value));
  if (!bytes) return Fail(bytes.error());
  memcpy(&value, bytes->data(), sizeof(value));
  return value;
}

struct Times {
  timespec pair[2];
};

// As utimensat() has them, from whichever call it is. A null pointer is now.
Answer<Times> ReadTimes(const Caller& caller) {
  Times now{{{0, UTIME_NOW}, {0, UTIME_NOW}}};
  bool old = caller.call() == __NR_utime || caller.call() == __NR_utimes;
  uint64_t address = caller.argument(old ? 1 : 2);
  if (address == 0) return now;
  if (caller.call() == __NR_utimensat) return ReadValue<Times>(caller, address);
  if (caller.call() == __NR_utime) {
    Answer<utimbuf> read = ReadValue<utimbuf>(caller, address);
    if (!read) return Fail(read.error());
    return Times{{{read->actime, 0}, {read->modtime, 0}}};
  }
  struct Pair {
    timeval pair[2];
  };
  Answer<Pair> read = ReadValue<Pair>(caller, address);
  if (!read) return Fail(read.error());
  Times times{};
  for (int i = 0; i < 2; ++i) {
    if (read->pair[i].tv_usec < 0 || read->pair[i].tv_usec >= 1'000'000) return Fail(EINVAL);
    times.pair[i] = {read->pair[i].tv_sec, read->pair[i].tv_usec * 1000};
  }
  return times;
}

Follow FollowUnless(int flags) {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? Follow::kNot : Follow::kLast;
}

}  // namespace

Answer<FileChanger::Target> FileChanger::Checked(sys::UniqueFd file) const {
  struct stat status;
  if (fstat(file.get(), &status) != 0) return Fail(errno);
  if (OnProc(file.get())) return Fail(EPERM);
  std::string path = PathOf(file.get());
  // What has no name (a pipe, a memfd, O_TMPFILE, a deleted file) is nobody else's.
  bool named = path.starts_with('/') && (status.st_nlink > 0 || !path.ends_with(" (deleted)"));
  if (named) {
    if (Answer<void> may = gate_.MayChange(path); !may) return Fail(may.error());
    // The terminal of a device node is changed through it, its node is not.
    if (gate_.IsGrantedDevice(path)) return Fail(EROFS);
  }
  Target target{std::move(file), {}};
  target.link = "/proc/self/fd/" + std::to_string(target.file.get());
  return target;
}

Answer<FileChanger::Target> FileChanger::ByPath(const Caller& caller, int directory, int path_index,
                                                Follow follow) const {
  Answer<std::string> path = caller.ReadPath(caller.argument(path_index));
  if (!path) return Fail(path.error());
  if (!caller.Waiting()) return Fail(EINTR);
  Answer<sys::UniqueFd> file = caller.Reach(directory, *path, follow);
  if (!file) return Fail(file.error());
  return Checked(std::move(*file));
}

Answer<FileChanger::Target> FileChanger::ByDescriptor(const Caller& caller, int descriptor) const {
  Answer<sys::UniqueFd> file = caller.Held(descriptor);
  if (!file) return Fail(file.error());
  return Checked(std::move(*file));
}

Answer<void> FileChanger::Remove(const Caller& caller, int directory, int path_index,
                                 int flags) const {
  if ((flags & ~AT_REMOVEDIR) != 0) return Fail(EINVAL);
  Answer<std::string> path = caller.ReadPath(caller.argument(path_index));
  if (!path) return Fail(path.error());
  if (!caller.Waiting()) return Fail(EINTR);
  bool remove_directory = (flags & AT_REMOVEDIR) != 0;
  Answer<Place> place = caller.Locate(directory, *path);
  if (!place) {
    return Fail(place.error() != EEXIST ? place.error() : remove_directory ? EBUSY : EISDIR);
  }
  if (OnProc(place->parent.get())) return Fail(EPERM);
  struct stat status;
  if (fstatat(place->parent.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return Fail(errno);
  }
  if (Answer<void> may = gate_.MayUnname(place->path); !may) return may;
  std::string name = place->name + (place->trailing_slash ? "/" : "");
  return Done(unlinkat(place->parent.get(), name.c_str(), flags));
}

Answer<void> FileChanger::SetMode(const Answer<Target>& target, uint64_t mode) const {
  if (!target) return Fail(target.error());
  constexpr mode_t kSetIdBits = S_ISUID | S_ISGID;
  if ((mode & kSetIdBits) != 0) return Fail(EPERM);
  struct stat status;
  if (fstat(target->file.get(), &status) != 0) return Fail(errno);
  if (S_ISLNK(status.st_mode)) return Fail(EOPNOTSUPP);
  return Done(chmod(target->link.c_str(), static_cast<mode_t>(mode & 07777)));
}

Answer<void> FileChanger::SetOwner(const Answer<Target>& target, uint64_t uid, uint64_t gid) const {
  if (!target) return Fail(target.error());
  return Done(fchownat(target->file.get(), "", static_cast<uid_t>(uid), static_cast<gid_t>(gid),
                       AT_EMPTY_PATH));
}

Answer<void> FileChanger::SetTimes(const Caller& caller) const {
  bool old = caller.call() == __NR_utime || caller.call() == __NR_utimes;
  int directory = old ? AT_FDCWD : caller.descriptor(0);
  int flags = caller.call() == __NR_utimensat ? caller.descriptor(3) : 0;
  if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) return Fail(EINVAL);
  int path_index = old ? 0 : 1;
  Answer<Times> times = ReadTimes(caller);
  if (!times) return Fail(times.error());
  bool descriptor = !old && caller.argument(1) == 0;
  if (!descriptor && (flags & AT_EMPTY_PATH) != 0) {
    Answer<std::string> path = caller.ReadPath(caller.argument(path_index));
    descriptor = path && path->empty();
  }
  Answer<Target> target = descriptor ? ByDescriptor(caller, directory)
                                     : ByPath(caller, directory, path_index, FollowUnless(flags));
  if (!target) return Fail(target.error());
  // Of a link its own times, through the descriptor (Linux 5.8).
  return Done(utimensat(target->file.get(), "", times->pair, AT_EMPTY_PATH));
}

Answer<void> FileChanger::SetAttribute(const Caller& caller, const Answer<Target>& target) const {
  if (!target) return Fail(target.error());
  Answer<std::string> name = caller.ReadPath(caller.argument(1));
  if (!name) return Fail(name.error());
  uint64_t size = caller.argument(3);
  if (size > XATTR_SIZE_MAX) return Fail(E2BIG);
  Answer<std::string> value = std::string();
  if (size > 0) value = caller.ReadBytes(caller.argument(2), size);
  if (!value) return Fail(value.error());
  return Done(setxattr(target->link.c_str(), name->c_str(), value->data(), value->size(),
                       caller.descriptor(4)));
}

Answer<void> FileChanger::RemoveAttribute(const Caller& caller,
                                          const Answer<Target>& target) const {
  if (!target) return Fail(target.error());
  Answer<std::string> name = caller.ReadPath(caller.argument(1));
  if (!name) return Fail(name.error());
  return Done(removexattr(target->link.c_str(), name->c_str()));
}

std::optional<Answer<void>> FileChanger::Answer1(const Caller& caller) {
  switch (caller.call()) {
    case __NR_unlink:
      return Remove(caller, AT_FDCWD, 0, 0);
    case __NR_rmdir:
      return Remove(caller, AT_FDCWD, 0, AT_REMOVEDIR);
    case __NR_unlinkat:
      return Remove(caller, caller.descriptor(0), 1, caller.descriptor(2));
    case __NR_truncate: {
      Answer<Target> target = ByPath(caller, AT_FDCWD, 0, Follow::kLast);
      if (!target) return Fail(target.error());
      return Done(truncate(target->link.c_str(), static_cast<off_t>(caller.argument(1))));
    }
    case __NR_chmod:
      return SetMode(ByPath(caller, AT_FDCWD, 0, Follow::kLast), caller.argument(1));
    case __NR_fchmod:
      return SetMode(ByDescriptor(caller, caller.descriptor(0)), caller.argument(1));
    case __NR_fchmodat:
      return SetMode(ByPath(caller, caller.descriptor(0), 1, Follow::kLast), caller.argument(2));
    case __NR_fchmodat2: {
      int flags = caller.descriptor(3);
      if ((flags & AT_EMPTY_PATH) != 0) return Fail(ENOSYS);
      return SetMode(ByPath(caller, caller.descriptor(0), 1, FollowUnless(flags)),
                     caller.argument(2));
    }
    case __NR_chown:
      return SetOwner(ByPath(caller, AT_FDCWD, 0, Follow::kLast), caller.argument(1),
                      caller.argument(2));
    case __NR_lchown:
      return SetOwner(ByPath(caller, AT_FDCWD, 0, Follow::kNot), caller.argument(1),
                      caller.argument(2));
    case __NR_fchown:
      return SetOwner(ByDescriptor(caller, caller.descriptor(0)), caller.argument(1),
                      caller.argument(2));
    case __NR_fchownat: {
      int flags = caller.descriptor(4);
      bool empty = (flags & AT_EMPTY_PATH) != 0;
      Answer<std::string> path = caller.ReadPath(caller.argument(1));
      Answer<Target> target = empty && path && path->empty()
                                  ? ByDescriptor(caller, caller.descriptor(0))
                                  : ByPath(caller, caller.descriptor(0), 1, FollowUnless(flags));
      return SetOwner(target, caller.argument(2), caller.argument(3));
    }
    case __NR_utime:
    case __NR_utimes:
    case __NR_futimesat:
    case __NR_utimensat:
      return SetTimes(caller);
    case __NR_setxattr:
      return SetAttribute(caller, ByPath(caller, AT_FDCWD, 0, Follow::kLast));
    case __NR_lsetxattr:
      return SetAttribute(caller, ByPath(caller, AT_FDCWD, 0, Follow::kNot));
    case __NR_fsetxattr:
      return SetAttribute(caller, ByDescriptor(caller, caller.descriptor(0)));
    case __NR_removexattr:
      return RemoveAttribute(caller, ByPath(caller, AT_FDCWD, 0, Follow::kLast));
    case __NR_lremovexattr:
      return RemoveAttribute(caller, ByPath(caller, AT_FDCWD, 0, Follow::kNot));
    case __NR_fremovexattr:
      return RemoveAttribute(caller, ByDescriptor(caller, caller.descriptor(0)));
    default:
      return std::nullopt;
  }
}

Answer<int> FileChanger::AddWatch(const Caller& caller) {
  Answer<std::string> path = caller.ReadPath(caller.argument(1));
  if (!path) return Fail(path.error());
  Answer<sys::UniqueFd> events = caller.Duplicate(caller.descriptor(0));
  if (!events) return Fail(events.error());
  auto mask = static_cast<uint32_t>(caller.argument(2));
  bool follow = (mask & IN_DONT_FOLLOW) == 0;
  Answer<sys::UniqueFd> file = caller.Reach(AT_FDCWD, *path, follow ? Follow::kLast : Follow::kNot);
  if (!file) return Fail(file.error());
  struct stat status;
  if (fstat(file->get(), &status) != 0) return Fail(errno);
  if (OnProc(file->get())) return Fail(EACCES);
  if (Answer<void> may = gate_.MayRead(PathOf(file->get())); !may) return Fail(may.error());
  if ((mask & IN_ONLYDIR) != 0 && !S_ISDIR(status.st_mode)) return Fail(ENOTDIR);
  std::string link = "/proc/self/fd/" + std::to_string(file->get());
  int watch = inotify_add_watch(events->get(), link.c_str(), mask & ~uint32_t{IN_DONT_FOLLOW});
  if (watch < 0) return Fail(errno);
  return watch;
}

}  // namespace cordon::spawn
