// Runs in: supervisor, broker thread.
#include "spawn/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

constexpr int kMaxLinks = 40;

std::unexpected<int> Fail(int error) { return std::unexpected(error); }

Answer<sys::UniqueFd> OpenAt2(int directory, const std::string& path, uint64_t flags,
                              uint64_t resolve) {
  uapi::OpenHow how{flags | O_CLOEXEC, 0, resolve};
  long fd;
  // EAGAIN: a rename raced with a ".." of the path.
  for (int attempt = 0; attempt < 64; ++attempt) {
    fd = syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  if (fd < 0) return Fail(errno);
  return sys::UniqueFd(static_cast<int>(fd));
}

Answer<sys::UniqueFd> OpenPath(const char* path, int flags = 0) {
  int fd = open(path, O_PATH | O_CLOEXEC | flags);
  if (fd < 0) return Fail(errno);
  return sys::UniqueFd(fd);
}

// A link of /proc that leads to what it stands for and not by its text: those of
// a process's own directory, whose text is absolute or no path at all.
bool IsMagic(int directory, const std::string& name) {
  uapi::OpenHow how{O_PATH | O_CLOEXEC, 0, uapi::kResolveNoMagiclinks};
  long fd = syscall(SYS_openat2, directory, name.c_str(), &how, sizeof(how));
  int error = errno;
  if (fd >= 0) close(static_cast<int>(fd));
  return fd < 0 && error == ELOOP;
}

// /dev/fd is a link to /proc/self/fd, where the caller has what the reader has not.
bool MayMeanProc(std::string_view path) {
  return path.starts_with("/proc/") || path.starts_with("/dev/");
}

std::string StatusField(pid_t tid, const char* name) {
  char path[64], text[4096];
  snprintf(path, sizeof(path), "/proc/%d/status", tid);
  sys::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  ssize_t length = file.valid() ? read(file.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0) return {};
  std::string_view status(text, static_cast<size_t>(length));
  size_t start = status.find(std::string("\n") + name);
  if (start == std::string_view::npos) return {};
  start += 1 + strlen(name);
  return std::string(status.substr(start, status.find('\n', start) - start));
}

}  // namespace

std::string PathOf(int fd) {
  char link[32], path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof(path));
  return length < 0 ? std::string() : std::string(path, static_cast<size_t>(length));
}

bool OnProc(int fd) {
  struct statfs status;
  return fstatfs(fd, &status) == 0 && status.f_type == uapi::kProcSuperMagic;
}

namespace {

// Where a container engine refuses the call, the file is there.
ssize_t ReadMemory(pid_t tid, uint64_t address, void* to, size_t size) {
  iovec local{to, size};
  iovec remote{reinterpret_cast<void*>(address), size};  // NOLINT(performance-no-int-to-ptr)
  ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);
  if (got >= 0 || (errno != EPERM && errno != ENOSYS)) return got;
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/mem", tid);
  sys::UniqueFd memory(open(path, O_RDONLY | O_CLOEXEC));
  return memory.valid() ? pread(memory.get(), to, size, static_cast<off_t>(address)) : -1;
}

}  // namespace

Answer<std::string> Caller::ReadBytes(uint64_t address, size_t size) const {
  std::string bytes(size, '\0');
  ssize_t got = ReadMemory(tid(), address, bytes.data(), size);
  if (got != static_cast<ssize_t>(size)) return Fail(EFAULT);
  return bytes;
}

Answer<std::string> Caller::ReadPath(uint64_t address) const {
  char buffer[PATH_MAX];
  size_t filled = 0;
  while (filled < sizeof(buffer)) {
    // Up to the end of the page, so that an unmapped next one does not matter;
    // most paths are short.
    uint64_t at = address + filled;
    size_t chunk = std::min<size_t>(4096 - (at & 4095), filled == 0 ? 256 : 4096);
    chunk = std::min(chunk, sizeof(buffer) - filled);
    ssize_t got = ReadMemory(tid(), at, buffer + filled, chunk);
    if (got <= 0) return Fail(EFAULT);
    if (memchr(buffer + filled, '\0', static_cast<size_t>(got)) != nullptr) {
      return std::string(buffer);
    }
    filled += static_cast<size_t>(got);
  }
  return Fail(ENAMETOOLONG);
}

bool Caller::Waiting() const {
  uint64_t id = notification_.id;
  return ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

Answer<sys::UniqueFd> Caller::Resolve(int directory, const std::string& path,
                                      uint64_t flags) const {
  if (path.starts_with('/')) {
    Answer<sys::UniqueFd> found = OpenAt2(root_, path, flags, uapi::kResolveInRoot);
    // /proc/self is the reader's own, and links of /proc are not followed. Where the
    // host's /proc is seen, the reader's own is there too.
    if (found ? !own_.empty() && OnProc(found->get())
              : found.error() == ELOOP || found.error() == EXDEV ||
                    (found.error() == ENOENT && (own_.empty() || MayMeanProc(path)))) {
      return Walk(path, flags);
    }
    return found;
  }
  char link[64];
  if (directory == AT_FDCWD) {
    snprintf(link, sizeof(link), "/proc/%d/cwd", tid());
  } else {
    snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid(), directory);
  }
  Answer<sys::UniqueFd> base = OpenPath(link);
  if (!base) return Fail(directory == AT_FDCWD ? base.error() : EBADF);
  if (!Waiting()) return Fail(EINTR);  // the number may be another's by now
  if (path == ".") {
    struct stat status;
    if (fstat(base->get(), &status) != 0 || !S_ISDIR(status.st_mode)) return Fail(ENOTDIR);
    return base;
  }
  bool stands_for_another = !own_.empty() && PathOf(base->get()).starts_with(own_);
  if (stands_for_another) return Resolve(AT_FDCWD, Join(base->get(), path), flags);
  Answer<sys::UniqueFd> found =
      OpenAt2(base->get(), path, flags, uapi::kResolveBeneath | uapi::kResolveNoMagiclinks);
  if (found && !own_.empty() && OnProc(found->get())) found = Fail(ELOOP);
  if (found || (found.error() != EXDEV && found.error() != ELOOP && found.error() != ENOENT)) {
    return found;
  }
  if (found.error() == ENOENT && path.find("..") == std::string::npos && !OnProc(base->get())) {
    return found;
  }
  std::string joined = Join(base->get(), path);
  if (!joined.starts_with('/')) return Fail(EACCES);
  return Resolve(AT_FDCWD, joined, flags);
}

std::string Caller::Join(int base, const std::string& path) const {
  std::string here = PathOf(base);
  for (const char* shown : {"/proc", "/dev"}) {
    if (!own_.empty() && here == std::string(own_) + shown) here = shown;
  }
  return here + "/" + path;
}

Answer<sys::UniqueFd> Caller::Reach(int directory, const std::string& path, Follow follow) const {
  if (path.empty()) return Fail(ENOENT);
  // The sandbox's own shared memory is by another name.
  constexpr std::string_view kShared = "/dev/shm/";
  if (!own_.empty() && path.starts_with(kShared)) {
    return Reach(directory, std::string(own_) + "/shm/" + path.substr(kShared.size()), follow);
  }
  return Resolve(directory, path, O_PATH | (follow == Follow::kNot ? O_NOFOLLOW : 0));
}

Answer<sys::UniqueFd> Caller::Held(int descriptor) const {
  char link[64];
  snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid(), descriptor);
  Answer<sys::UniqueFd> held = OpenPath(link);
  if (!held) return Fail(EBADF);
  if (!Waiting()) return Fail(EINTR);
  return held;
}

// Component by component, for paths that go through /proc: there "self" is the
// caller, and its own cwd, root and descriptors are what it holds.
Answer<sys::UniqueFd> Caller::Walk(const std::string& path, uint64_t flags) const {
  std::vector<std::string> rest = base::Split(path, '/');
  std::reverse(rest.begin(), rest.end());
  Answer<sys::UniqueFd> at = OpenAt2(root_, ".", O_PATH | O_DIRECTORY, uapi::kResolveInRoot);
  if (!at) return at;
  int links = 0;
  while (!rest.empty()) {
    std::string name = std::move(rest.back());
    rest.pop_back();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      // By path, from the root: ".." of a descriptor could leave it.
      std::string here = PathOf(at->get());
      size_t slash = here.rfind('/');
      at = OpenAt2(root_, slash == 0 ? "." : here.substr(0, slash), O_PATH | O_DIRECTORY,
                   uapi::kResolveInRoot);
      if (!at) return at;
      continue;
    }
    char target[PATH_MAX];
    ssize_t length = readlinkat(at->get(), name.c_str(), target, sizeof(target));
    bool proc = OnProc(at->get());
    if (proc && (name == "self" || name == "thread-self")) {
      rest.push_back(std::to_string(InnerPid()));
      continue;
    }
    if (length < 0) {
      if (errno != EINVAL) return Fail(errno);
      at = OpenAt2(at->get(), name, O_PATH | O_NOFOLLOW,
                   uapi::kResolveBeneath | uapi::kResolveNoMagiclinks);
      if (!at) return at;
      continue;
    }
    if (rest.empty() && (flags & O_NOFOLLOW) != 0) {
      return OpenAt2(at->get(), name, O_PATH | O_NOFOLLOW, uapi::kResolveBeneath);
    }
    if (++links > kMaxLinks) return Fail(ELOOP);
    if (proc && !IsMagic(at->get(), name)) {
      // "mounts" and "net" lead to what is the caller's.
      std::vector<std::string> parts = base::Split({target, static_cast<size_t>(length)}, '/');
      rest.insert(rest.end(), parts.rbegin(), parts.rend());
      continue;
    }
    if (proc) {
      std::string own = "/proc/" + std::to_string(InnerPid());
      std::string here = PathOf(at->get());
      if (here != own && here != own + "/fd") return Fail(EACCES);
      std::string link = "/proc/" + std::to_string(tid()) + here.substr(own.size()) + "/" + name;
      at = OpenPath(link.c_str());
      if (!at) return at;
      if (!Waiting()) return Fail(EINTR);
      continue;
    }
    std::string_view text(target, static_cast<size_t>(length));
    std::vector<std::string> parts = base::Split(text, '/');
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
    if (text.starts_with('/')) {
      at = OpenAt2(root_, ".", O_PATH | O_DIRECTORY, uapi::kResolveInRoot);
      if (!at) return at;
    }
  }
  struct stat status;
  if (fstat(at->get(), &status) != 0) return Fail(errno);
  if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(status.st_mode)) return Fail(ENOTDIR);
  return at;
}

Answer<Place> Caller::Locate(int directory, const std::string& path) const {
  if (path.empty()) return Fail(ENOENT);
  std::string trimmed = path;
  Place place;
  while (trimmed.size() > 1 && trimmed.back() == '/') {
    trimmed.pop_back();
    place.trailing_slash = true;
  }
  size_t slash = trimmed.rfind('/');
  std::string parent = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : trimmed.substr(0, slash);
  place.name = slash == std::string::npos ? trimmed : trimmed.substr(slash + 1);
  if (place.name.empty() || place.name == "." || place.name == "..") return Fail(EEXIST);
  if (place.name.size() > NAME_MAX) return Fail(ENAMETOOLONG);
  Answer<sys::UniqueFd> found = Resolve(directory, parent, O_PATH | O_DIRECTORY);
  if (!found) return Fail(found.error());
  place.parent = std::move(*found);
  std::string parent_path = PathOf(place.parent.get());
  if (!own_.empty() && parent_path == "/dev/shm") {
    parent_path = std::string(own_) + "/shm";
    place.parent.reset(open(parent_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!place.parent.valid()) return Fail(EACCES);
  }
  if (!parent_path.starts_with('/')) return Fail(EACCES);
  place.path = parent_path == "/" ? "/" + place.name : parent_path + "/" + place.name;
  return place;
}

Answer<sys::UniqueFd> Caller::Find(int directory, const std::string& path) const {
  std::string absolute = path;
  if (!path.starts_with('/')) {
    Answer<sys::UniqueFd> base = Resolve(directory, ".", O_PATH | O_DIRECTORY);
    if (!base) return base;
    absolute = PathOf(base->get()) + "/" + path;
  }
  return OpenAt2(root_, absolute, O_PATH, uapi::kResolveInRoot | uapi::kResolveNoMagiclinks);
}

Answer<sys::UniqueFd> Caller::Duplicate(int descriptor) const {
  long pidfd = syscall(SYS_pidfd_open, tid(), uapi::kPidfdThread);
  if (pidfd < 0 && errno == EINVAL) {  // PIDFD_THREAD came with Linux 6.9
    std::string group = StatusField(tid(), "Tgid:");
    pidfd = syscall(SYS_pidfd_open, atoi(group.c_str()), 0);
  }
  if (pidfd < 0) return Fail(errno);
  sys::UniqueFd process(static_cast<int>(pidfd));
  long fd = syscall(SYS_pidfd_getfd, process.get(), descriptor, 0);
  if (fd < 0) return Fail(errno);
  sys::UniqueFd duplicate(static_cast<int>(fd));
  if (!Waiting()) return Fail(EINTR);  // as above
  return duplicate;
}

int ReplaceFd(int listener, uint64_t id, int with, int descriptor, int flags) {
  seccomp_notif_addfd add{};
  add.id = id;
  add.flags = SECCOMP_ADDFD_FLAG_SETFD;
  add.srcfd = static_cast<uint32_t>(with);
  add.newfd = static_cast<uint32_t>(descriptor);
  add.newfd_flags = static_cast<uint32_t>(flags & O_CLOEXEC);
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? errno : 0;
}

int Caller::Replace(int descriptor, int with, int flags) const {
  return ReplaceFd(listener_, id(), with, descriptor, flags);
}

int Caller::FlagsOf(int descriptor) const {
  char path[64], text[512];
  snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid(), descriptor);
  sys::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  ssize_t length = file.valid() ? read(file.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0 || !Waiting()) return -1;
  text[length] = '\0';
  const char* flags = strstr(text, "flags:");
  return flags == nullptr ? -1 : static_cast<int>(strtol(flags + 6, nullptr, 8));
}

uint64_t Caller::SocketNumber(int descriptor) const {
  char path[64], text[64];
  snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid(), descriptor);
  ssize_t length = readlink(path, text, sizeof(text) - 1);
  uint64_t number = 0;
  if (length <= 0 || !Waiting()) return 0;
  text[length] = '\0';
  return sscanf(text, "socket:[%lu]", &number) == 1 ? number : 0;
}

bool SignalWaits(pid_t tid) {
  auto set = [&](const char* name) {
    return strtoull(StatusField(tid, name).c_str(), nullptr, 16);
  };
  return ((set("SigPnd:") | set("ShdPnd:")) & ~set("SigBlk:")) != 0;
}

pid_t Caller::InnerPid() const {
  std::string numbers = StatusField(tid(), "NStgid:");
  size_t last = numbers.find_last_of(" \t");
  return atoi(numbers.c_str() + (last == std::string::npos ? 0 : last));
}

unsigned Caller::Umask() const {
  std::string mask = StatusField(tid(), "Umask:");
  return static_cast<unsigned>(strtoul(mask.c_str(), nullptr, 8));
}

unsigned Caller::ControllingTerminal() const {
  char path[64], text[1024];
  snprintf(path, sizeof(path), "/proc/%d/stat", tid());
  sys::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  ssize_t length = file.valid() ? read(file.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0) return 0;
  text[length] = '\0';
  // pid (comm) state ppid pgrp session tty_nr; comm may hold anything.
  const char* after = strrchr(text, ')');
  int terminal = 0;
  if (after == nullptr || sscanf(after + 1, " %*c %*d %*d %*d %d", &terminal) != 1) return 0;
  return static_cast<unsigned>(terminal);
}

}  // namespace cordon::spawn
