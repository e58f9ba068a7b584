#include "session/drop_root.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "sys/fd.h"
#include "sys/uapi.h"

namespace cordon::session {
namespace {

using base::SystemError;

Status WriteTo(const std::string& path, const std::string& text) {
  sys::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || write(fd.get(), text.data(), text.size()) < 0) {
    return SystemError("write " + path, errno);
  }
  return {};
}

// A user namespace that stands for "`owner` on disk is `target` in the mount".
// It needs a process to come into being, not to stay.
Result<sys::UniqueFd> MappingNamespace(uid_t owner, gid_t group, const Unprivileged& target) {
  int ready[2], release[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return SystemError("pipe2", errno);
  sys::UniqueFd ready_read(ready[0]), ready_write(ready[1]);
  if (pipe2(release, O_CLOEXEC) != 0) return SystemError("pipe2", errno);
  sys::UniqueFd release_read(release[0]), release_write(release[1]);
  pid_t pid = fork();
  if (pid < 0) return SystemError("fork", errno);
  if (pid == 0) {
    close(release[1]);
    char byte = unshare(CLONE_NEWUSER) == 0 ? 1 : 0;
    // Until the parent lets go, or is gone.
    if (write(ready[1], &byte, 1) == 1) static_cast<void>(!read(release[0], &byte, 1));
    _exit(0);
  }
  ready_write.reset();
  char byte = 0;
  bool made = read(ready_read.get(), &byte, 1) == 1 && byte == 1;
  std::string proc = "/proc/" + std::to_string(pid);
  sys::UniqueFd fd;
  Status mapped = SystemError("unshare(CLONE_NEWUSER)", EPERM);
  if (made) {
    mapped =
        WriteTo(proc + "/uid_map", std::to_string(owner) + " " + std::to_string(target.uid) + " 1");
    if (mapped) {
      mapped = WriteTo(proc + "/gid_map",
                       std::to_string(group) + " " + std::to_string(target.gid) + " 1");
    }
    fd.reset(open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  if (!mapped) return std::move(mapped).error();
  if (!fd.valid()) return SystemError("open the mapping namespace", errno);
  return fd;
}

bool Searchable(const std::string& directory, const Unprivileged& target) {
  struct stat status;
  if (stat(directory.c_str(), &status) != 0) return false;
  return (status.st_mode & S_IXOTH) != 0 ||
         (status.st_uid == target.uid && (status.st_mode & S_IXUSR) != 0);
}

// An empty directory of our own in the place of `path`.
Status Cover(const std::string& path) {
  long context = syscall(SYS_fsopen, "tmpfs", uapi::kFsopenCloexec);
  if (context < 0) return SystemError("fsopen tmpfs", errno);
  sys::UniqueFd tmpfs(static_cast<int>(context));
  syscall(SYS_fsconfig, tmpfs.get(), uapi::kFsconfigSetString, "mode", "0755", 0);
  syscall(SYS_fsconfig, tmpfs.get(), uapi::kFsconfigSetString, "size", "1m", 0);
  if (syscall(SYS_fsconfig, tmpfs.get(), uapi::kFsconfigCmdCreate, nullptr, nullptr, 0) != 0) {
    return SystemError("fsconfig tmpfs", errno);
  }
  sys::UniqueFd mount(static_cast<int>(syscall(SYS_fsmount, tmpfs.get(), uapi::kFsmountCloexec,
                                               uapi::kMountAttrNosuid | uapi::kMountAttrNodev)));
  if (!mount.valid()) return SystemError("fsmount tmpfs", errno);
  if (syscall(SYS_move_mount, mount.get(), "", AT_FDCWD, path.c_str(),
              uapi::kMoveMountFEmptyPath) != 0) {
    return SystemError("mount over " + path, errno);
  }
  return {};
}

// A directory on the way that the target may not search is covered by an empty
// one, which then gets the rest of the way.
Status OpenTheWay(const std::string& path, const Unprivileged& target) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string step = path.substr(0, slash);
    if (access(step.c_str(), F_OK) != 0 && mkdir(step.c_str(), 0755) != 0) {
      return SystemError("mkdir " + step, errno);
    }
    if (slash == std::string::npos) return {};
    if (!Searchable(step, target)) CORDON_TRY(Cover(step));
  }
}

struct MappedTree {
  std::string path;
  sys::UniqueFd tree;
};

using Namespaces = std::map<std::pair<uid_t, gid_t>, sys::UniqueFd>;

Result<MappedTree> OpenMapped(const std::string& path, const Unprivileged& target,
                              Namespaces& namespaces) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return SystemError("stat " + path, errno);
  MappedTree mapped{path, {}};
  mapped.tree.reset(
      static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, path.c_str(),
                               AT_RECURSIVE | uapi::kOpenTreeClone | uapi::kOpenTreeCloexec)));
  if (!mapped.tree.valid()) return SystemError("open_tree " + path, errno);
  auto owner = std::pair(status.st_uid, status.st_gid);
  if (owner.first == target.uid) return mapped;
  if (!namespaces.contains(owner)) {
    CORDON_ASSIGN_OR_RETURN(namespaces[owner], MappingNamespace(owner.first, owner.second, target));
  }
  uapi::MountAttr attributes{};
  attributes.attr_set = uapi::kMountAttrIdmap | uapi::kMountAttrNosuid | uapi::kMountAttrNodev;
  attributes.userns_fd = static_cast<uint64_t>(namespaces[owner].get());
  if (syscall(SYS_mount_setattr, mapped.tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
              sizeof(attributes)) != 0) {
    Error error = SystemError("id-map " + path, errno, Reason::kUnsupported);
    error.code = Code::kUnsupported;
    return error;
  }
  return mapped;
}

}  // namespace

Status BecomeUnprivileged(const Unprivileged& target, std::vector<std::string> directories) {
  if (unshare(CLONE_NEWNS) != 0) return SystemError("unshare(CLONE_NEWNS)", errno);
  uapi::MountAttr propagation{};
  propagation.propagation = uapi::kMsPrivate;
  if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &propagation, sizeof(propagation)) !=
      0) {
    return SystemError("mount_setattr /", errno);
  }
  std::ranges::sort(directories);
  Namespaces namespaces;
  std::vector<MappedTree> trees;
  for (const std::string& directory : directories) {
    // What lies in a mapped directory is mapped with it, if it has its owner.
    CORDON_ASSIGN_OR_RETURN(MappedTree tree, OpenMapped(directory, target, namespaces));
    trees.push_back(std::move(tree));
  }
  for (MappedTree& mapped : trees) {
    CORDON_TRY(OpenTheWay(mapped.path, target));
    if (syscall(SYS_move_mount, mapped.tree.get(), "", AT_FDCWD, mapped.path.c_str(),
                uapi::kMoveMountFEmptyPath) != 0) {
      return SystemError("mount " + mapped.path, errno);
    }
  }
  CORDON_TRY(ChangeUser(target));
  // The working directory must be entered again, through the new mounts.
  char* directory = get_current_dir_name();
  bool entered = directory != nullptr && chdir(directory) == 0;
  free(directory);
  if (!entered && chdir("/") != 0) return SystemError("chdir", errno);
  return {};
}

Status ChangeUser(const Unprivileged& target) {
  // A pipe belongs to who made it; to be opened again as /dev/stdin it must be
  // the target's.
  for (int stream = 0; stream < 3; ++stream) {
    struct stat status;
    if (fstat(stream, &status) == 0 && S_ISFIFO(status.st_mode) && status.st_nlink == 1 &&
        status.st_uid == 0) {
      static_cast<void>(!fchown(stream, target.uid, target.gid));
    }
  }
  if (setgroups(0, nullptr) != 0 || setresgid(target.gid, target.gid, target.gid) != 0 ||
      setresuid(target.uid, target.uid, target.uid) != 0) {
    return SystemError("become user " + std::to_string(target.uid), errno);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // The change of identity made this process undumpable, and with it its files
  // in /proc root's, which the child has to write.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return {};
}

Status GiveUpPowers(Keep keep) {
  if (setgroups(0, nullptr) != 0) return SystemError("setgroups", errno);
  bool nothing = keep == Keep::kNothing;
  // Ends with the first that the kernel does not have.
  for (unsigned long bit = 0; nothing && prctl(PR_CAPBSET_DROP, bit, 0, 0, 0) == 0; ++bit) {
  }
  constexpr unsigned kSetFileCapabilities = 31;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (!nothing) data[0].effective = data[0].permitted = 1u << kSetFileCapabilities;
  if (syscall(SYS_capset, &header, data) != 0) return SystemError("capset", errno);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Losing capabilities may have made this process undumpable.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return {};
}

}  // namespace cordon::session
