// Runs in: supervisor, broker thread.
#include "spawn/file_opener.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guard/path.h"
#include "plan/rules.h"
#include "spawn/process_tree.h"

namespace cordon::spawn {
namespace {

constexpr mode_t kSetIdBits = S_ISUID | S_ISGID;

std::unexpected<int> Fail(int error) { return std::unexpected(error); }

bool Changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0; }

// Opens what the descriptor holds, whatever its name is by now, without blocking.
Answer<sys::UniqueFd> Reopen(int file, int flags, mode_t mode = 0) {
  char link[32];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  flags &= ~(O_CREAT | O_EXCL | O_NOFOLLOW);
  int fd = open(link, flags | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, mode);
  if (fd < 0) return Fail(errno);
  sys::UniqueFd opened(fd);
  if ((flags & O_NONBLOCK) == 0) {
    int status = fcntl(fd, F_GETFL);
    if (status < 0 || fcntl(fd, F_SETFL, status & ~O_NONBLOCK) < 0) return Fail(EIO);
  }
  return opened;
}

// "/dev/pts/7" of a terminal's device number.
std::string TerminalPath(unsigned device) {
  // The kernel packs it as minor[31:20], major[15:8], minor[7:0].
  unsigned major_number = (device >> 8) & 0xff;
  unsigned minor_number = (device & 0xff) | ((device >> 12) & 0xfff00);
  constexpr unsigned kFirst = 136, kLast = 143;
  if (major_number < kFirst || major_number > kLast) return {};
  return "/dev/pts/" + std::to_string(minor_number + (major_number - kFirst) * 256);
}

}  // namespace

Answer<sys::UniqueFd> FileOpener::Open(const Caller& caller, const Request& request,
                                       sys::UniqueFd& blocking) {
  if ((request.flags & O_TMPFILE) == O_TMPFILE) return OpenNameless(caller, request);
  bool follow = (request.flags & O_NOFOLLOW) == 0;
  Answer<sys::UniqueFd> found =
      caller.Reach(request.directory, request.path, follow ? Follow::kLast : Follow::kNot);
  if (!found) return found;
  return OpenFound(caller, std::move(*found), request.flags, blocking);
}

Answer<sys::UniqueFd> FileOpener::OpenFound(const Caller& caller, sys::UniqueFd file, int flags,
                                            sys::UniqueFd& blocking) {
  struct stat status;
  if (fstat(file.get(), &status) != 0) return Fail(errno);
  if (S_ISLNK(status.st_mode)) return Fail(ELOOP);
  if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(status.st_mode)) return Fail(ENOTDIR);
  if (OnProc(file.get())) return OpenProc(caller, std::move(file), flags);
  if (S_ISDIR(status.st_mode) && Changes(flags)) return Fail(EISDIR);
  if (S_ISSOCK(status.st_mode)) return Fail(ENXIO);
  std::string path = PathOf(file.get());
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    return OpenDevice(caller, file, path, flags);
  }
  if (path == "/dev" && !Changes(flags)) return ListDevices();
  Answer<void> may = Changes(flags) ? gate_.MayChange(path) : gate_.MayRead(path);
  if (!may) return Fail(may.error());
  if (S_ISFIFO(status.st_mode) && (flags & O_NONBLOCK) == 0) {
    blocking = std::move(file);
    return Fail(EINPROGRESS);
  }
  if (!Changes(flags)) {
    Answer<sys::UniqueFd> own = PrivateFile(path);
    if (own || own.error() != ENOENT) return own;
  }
  return Reopen(file.get(), flags);
}

// What the command sees in place of the host's file.
Answer<sys::UniqueFd> FileOpener::PrivateFile(const std::string& path) const {
  for (const plan::PrivateFile& file : gate_.plan().files) {
    if (file.path != path) continue;
    sys::UniqueFd memory(memfd_create("cordon-file", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ssize_t size = static_cast<ssize_t>(file.text.size());
    if (!memory.valid() || write(memory.get(), file.text.data(), file.text.size()) != size ||
        fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
      return Fail(ENOMEM);
    }
    return Reopen(memory.get(), O_RDONLY);
  }
  return Fail(ENOENT);
}

// The controlling terminal, or the other end of one that was opened here.
bool FileOpener::OwnsTerminal(const Caller& caller, const std::string& path) const {
  return terminals_.contains(path) || TerminalPath(caller.ControllingTerminal()) == path;
}

Answer<sys::UniqueFd> FileOpener::OpenDevice(const Caller& caller, const sys::UniqueFd& file,
                                             const std::string& path, int flags) {
  if (gate_.IsGrantedDevice(path)) return Reopen(file.get(), flags);
  if (path == "/dev/tty") {
    std::string terminal = TerminalPath(caller.ControllingTerminal());
    if (terminal.empty()) return Fail(ENXIO);
    sys::UniqueFd own(open(terminal.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!own.valid()) return Fail(ENXIO);
    return Reopen(own.get(), flags);
  }
  if (path == "/dev/ptmx" || path == "/dev/pts/ptmx") {
    Answer<sys::UniqueFd> master = Reopen(file.get(), flags);
    unsigned number = 0;
    if (master && ioctl(master->get(), TIOCGPTN, &number) == 0) {
      terminals_.insert("/dev/pts/" + std::to_string(number));
    }
    return master;
  }
  if (path.starts_with("/dev/pts/") && OwnsTerminal(caller, path)) {
    return Reopen(file.get(), flags);
  }
  return Fail(EACCES);
}

// A file that has no name yet, in a directory where one may be made.
Answer<sys::UniqueFd> FileOpener::OpenNameless(const Caller& caller, const Request& request) {
  if ((request.mode & kSetIdBits) != 0) return Fail(EPERM);
  Answer<sys::UniqueFd> found = caller.Reach(request.directory, request.path, Follow::kLast);
  if (!found) return found;
  std::string path = PathOf(found->get());
  if (path == "/dev/shm") {
    path = gate_.plan().private_directory + "/shm";
    found = caller.Reach(AT_FDCWD, path, Follow::kLast);
    if (!found) return found;
  }
  if (Answer<void> may = gate_.MayChange(path); !may) return Fail(may.error());
  return Reopen(found->get(), request.flags, request.mode & 0777);
}

Answer<sys::UniqueFd> FileOpener::OpenProc(const Caller& caller, sys::UniqueFd file, int flags) {
  std::string path = PathOf(file.get());
  struct stat status;
  if (fstat(file.get(), &status) != 0) return Fail(errno);
  if (path == "/proc" && !Changes(flags)) return ListProcesses();
  if (Answer<void> may = gate_.MayReadProc(caller, path); !may) return Fail(may.error());
  // The supervisor would lend its power to write there.
  if (Changes(flags)) return Fail(S_ISDIR(status.st_mode) ? EISDIR : EACCES);
  return Reopen(file.get(), flags);
}

// A directory of the run's own that has just these names, to be listed. What is
// opened below it is looked for where it stands for.
Answer<sys::UniqueFd> FileOpener::Show(const char* name, std::set<std::string> wanted) {
  std::string directory = gate_.plan().private_directory + "/" + name;
  DIR* shown = opendir(directory.c_str());
  if (shown == nullptr) return Fail(EACCES);
  while (dirent* entry = readdir(shown)) {
    if (entry->d_name[0] == '.' || wanted.erase(entry->d_name) > 0) continue;
    unlinkat(dirfd(shown), entry->d_name, AT_REMOVEDIR);
  }
  for (const std::string& one : wanted) mkdirat(dirfd(shown), one.c_str(), 0700);
  closedir(shown);
  int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Fail(errno);
  return sys::UniqueFd(fd);
}

Answer<sys::UniqueFd> FileOpener::ListDevices() {
  std::set<std::string> wanted = {"fd",     "full",  "null",   "ptmx", "pts",     "random", "shm",
                                  "stderr", "stdin", "stdout", "tty",  "urandom", "zero"};
  for (const std::string& device : gate_.plan().devices) {
    if (guard::Parent(device) == "/dev") wanted.emplace(guard::BaseName(device));
  }
  return Show("dev", std::move(wanted));
}

Answer<sys::UniqueFd> FileOpener::ListProcesses() {
  std::set<std::string> wanted = {std::to_string(gate_.init())};
  for (pid_t process : Descendants(gate_.init())) wanted.insert(std::to_string(process));
  DIR* host = opendir("/proc");
  while (dirent* entry = host == nullptr ? nullptr : readdir(host)) {
    bool process = entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    if (!process && entry->d_name[0] != '.') wanted.insert(entry->d_name);
  }
  if (host != nullptr) closedir(host);
  return Show("proc", std::move(wanted));
}

}  // namespace cordon::spawn
