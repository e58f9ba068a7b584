// Runs in: child, between clone and exec. Raw system calls only: the memory is
// the supervisor's own (CLONE_VM), so nothing here allocates, locks or touches
// libc state.
#include "spawn/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "backend/init_protocol.h"
#include "sys/raw.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

using backend::FlatSpec;
using backend::FlatStep;
using backend::kStatusFd;
using backend::Op;
using backend::Report;
using backend::ReportKind;

using raw::Arg;
using raw::Syscall;

// Of statfs(2).
constexpr long kStatReadOnly = 1;
constexpr long kStatNosuid = 2;
constexpr long kStatNodev = 4;

struct Child {
  const FlatSpec* spec;
  int slots[backend::kMaxSlots];
};

long OpenExact(const char* path, backend::Identity identity) noexcept {
  uapi::OpenHow how{O_PATH | O_CLOEXEC, 0, uapi::kResolveNoSymlinks | uapi::kResolveNoMagiclinks};
  long fd = Syscall(__NR_openat2, AT_FDCWD, Arg(path), Arg(&how), sizeof(how));
  if (fd < 0 || identity == backend::Identity{}) return fd;
  struct statx seen;
  long result = Syscall(__NR_statx, fd, Arg(""), AT_EMPTY_PATH, STATX_INO, Arg(&seen));
  if (result < 0) return result;
  uint64_t device = (static_cast<uint64_t>(seen.stx_dev_major) << 32) | seen.stx_dev_minor;
  // Something was put in the place of what the plan was made for.
  if (device != identity.device || seen.stx_ino != identity.inode) return -ESTALE;
  return fd;
}

long Close(long fd, long result) noexcept {
  Syscall(__NR_close, fd);
  return result;
}

long WriteFile(const FlatStep& step) noexcept {
  long fd = Syscall(__NR_openat, AT_FDCWD, Arg(step.path), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  long written = Syscall(__NR_write, fd, Arg(step.data), static_cast<long>(step.size));
  return Close(fd, written < 0 ? written : 0);
}

// Places that are not checked by identity are the system's own (/dev/null) or
// in a tree that the child itself has just made.
bool Trusted(const FlatStep& step) noexcept { return step.identity == backend::Identity{}; }

long OpenTree(const FlatStep& step) noexcept {
  if (Trusted(step)) {
    return Syscall(__NR_open_tree, AT_FDCWD, Arg(step.path),
                   AT_RECURSIVE | uapi::kOpenTreeClone | uapi::kOpenTreeCloexec);
  }
  long source = OpenExact(step.path, step.identity);
  if (source < 0) return source;
  long tree = Syscall(__NR_open_tree, source, Arg(""),
                      AT_EMPTY_PATH | AT_RECURSIVE | uapi::kOpenTreeClone | uapi::kOpenTreeCloexec);
  return Close(source, tree);
}

long Configure(long context, const char* key, const char* value) noexcept {
  return Syscall(__NR_fsconfig, context, uapi::kFsconfigSetString, Arg(key), Arg(value), 0);
}

long Mount(long context, uint64_t attributes) noexcept {
  long result = Syscall(__NR_fsconfig, context, uapi::kFsconfigCmdCreate, 0, 0, 0);
  if (result == 0) {
    result = Syscall(__NR_fsmount, context, uapi::kFsmountCloexec, static_cast<long>(attributes));
  }
  return Close(context, result);
}

long NewFileSystem(const char* type) noexcept {
  return Syscall(__NR_fsopen, Arg(type), uapi::kFsopenCloexec);
}

long NewTmpfs(const FlatStep& step) noexcept {
  long context = NewFileSystem("tmpfs");
  if (context < 0) return context;
  long result = Configure(context, "mode", step.value == 1 ? "0" : "0755");
  if (result == 0 && step.size != 0) result = Configure(context, "size", step.data);
  if (result == 0 && step.path[0] != '\0') result = Configure(context, "nr_inodes", step.path);
  if (result < 0) return Close(context, result);
  return Mount(context, uapi::kMountAttrNosuid | uapi::kMountAttrNodev);
}

long NewDevpts() noexcept {
  long context = NewFileSystem("devpts");
  if (context < 0) return context;
  long result = Configure(context, "ptmxmode", "0666");
  if (result == 0) result = Configure(context, "mode", "0620");
  if (result < 0) return Close(context, result);
  return Mount(context, uapi::kMountAttrNosuid | uapi::kMountAttrNoexec);
}

long NewPlain(const char* type) noexcept {
  long context = NewFileSystem(type);
  if (context < 0) return context;
  return Mount(context, uapi::kMountAttrNosuid | uapi::kMountAttrNodev | uapi::kMountAttrNoexec);
}

// In a container whose /sys is locked a new one cannot be had; what is there is
// shown then, read-only.
long NewSysfs(const FlatStep& step) noexcept {
  long tree = NewPlain("sysfs");
  return tree == -EPERM ? OpenTree(step) : tree;
}

long SetAttributes(long tree, const char* path, uint64_t set, uint64_t clear,
                   uint64_t propagation) noexcept {
  uapi::MountAttr attributes{set, clear, propagation, 0};
  long flags = AT_RECURSIVE | (path[0] == '\0' ? AT_EMPTY_PATH : 0);
  return Syscall(__NR_mount_setattr, tree, Arg(path), flags, Arg(&attributes), sizeof(attributes));
}

long Stash(int tree, const FlatStep& step) noexcept {
  if (Trusted(step)) {
    return Syscall(__NR_move_mount, tree, Arg(""), AT_FDCWD, Arg(step.path),
                   uapi::kMoveMountFEmptyPath);
  }
  long target = OpenExact(step.path, step.identity);
  if (target < 0) return target;
  return Close(target, Syscall(__NR_move_mount, tree, Arg(""), target, Arg(""),
                               uapi::kMoveMountFEmptyPath | uapi::kMoveMountTEmptyPath));
}

long Attach(int tree, const FlatStep& step) noexcept { return Close(tree, Stash(tree, step)); }

// The new root is put over the old one's "/", made the root, and the old one
// below it is let go of with everything mounted on it.
long EnterRoot(long root) noexcept {
  long result =
      Syscall(__NR_move_mount, root, Arg(""), AT_FDCWD, Arg("/"), uapi::kMoveMountFEmptyPath);
  if (result < 0) return result;
  result = Syscall(__NR_fchdir, root);
  if (result == 0) result = Syscall(__NR_pivot_root, Arg("."), Arg("."));
  if (result == 0) result = Syscall(__NR_umount2, Arg("."), uapi::kMntDetach);
  if (result == 0) result = Syscall(__NR_chdir, Arg("/"));
  return result;
}

long LoopbackUp() noexcept {
  long socket = Syscall(__NR_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return socket;
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  constexpr long kSetInterfaceFlags = 0x8914;
  return Close(socket, Syscall(__NR_ioctl, socket, kSetInterfaceFlags, Arg(&request)));
}

// Sends the messages and waits for the kernel's word on each.
long RunNetlink(const FlatStep& step) noexcept {
  long socket = Syscall(__NR_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return socket;
  long result = Syscall(__NR_sendto, socket, Arg(step.data), static_cast<long>(step.size), 0, 0, 0);
  uint64_t answered = 0;
  while (result >= 0 && answered < step.value) {
    alignas(nlmsghdr) char buffer[1024];
    long size = Syscall(__NR_recvfrom, socket, Arg(buffer), sizeof(buffer), 0, 0, 0);
    if (size < 0) return Close(socket, size);
    long at = 0;
    while (at + static_cast<long>(NLMSG_HDRLEN + sizeof(nlmsgerr)) <= size) {
      const auto* header = reinterpret_cast<const nlmsghdr*>(buffer + at);
      if (header->nlmsg_type != NLMSG_ERROR) return Close(socket, -EPROTO);
      int error = reinterpret_cast<const nlmsgerr*>(buffer + at + NLMSG_HDRLEN)->error;
      if (error != 0) return Close(socket, error);
      ++answered;
      at += NLMSG_ALIGN(header->nlmsg_len);
    }
  }
  return Close(socket, result < 0 ? result : 0);
}

long SetOption(long socket, int level, int name) noexcept {
  int on = 1;
  return Syscall(__NR_setsockopt, socket, level, name, Arg(&on), sizeof(on));
}

long BindListener(long socket, const FlatStep& step) noexcept {
  auto port = static_cast<uint16_t>(step.value);
  uint16_t network_order = static_cast<uint16_t>((port >> 8) | (port << 8));
  bool everywhere = (step.value2 & backend::kListenEverywhere) != 0;
  if ((step.value2 & backend::kListenV6) == 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = network_order;
    if (!everywhere) {
      auto* bytes = reinterpret_cast<uint8_t*>(&address.sin_addr);
      bytes[0] = 127;
      bytes[3] = 1;
    }
    return Syscall(__NR_bind, socket, Arg(&address), sizeof(address));
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = network_order;
  if (!everywhere) reinterpret_cast<uint8_t*>(&address.sin6_addr)[15] = 1;
  long result = SetOption(socket, IPPROTO_IPV6, IPV6_V6ONLY);
  // Answers go out from addresses that are local by a route only.
  constexpr int kFreebind = 78;
  if (result == 0) result = SetOption(socket, IPPROTO_IPV6, kFreebind);
  return result < 0 ? result : Syscall(__NR_bind, socket, Arg(&address), sizeof(address));
}

long SendFd(int socket, long fd) noexcept;

long Listen(const FlatStep& step) noexcept {
  bool datagram = (step.value2 & backend::kListenDatagram) != 0;
  long socket = Syscall(__NR_socket, (step.value2 & backend::kListenV6) != 0 ? AF_INET6 : AF_INET,
                        (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return socket;
  constexpr long kBacklog = 1024;
  long result = BindListener(socket, step);
  if (result == 0 && !datagram) result = Syscall(__NR_listen, socket, kBacklog);
  if (result == 0) result = SendFd(kListenerSocketFd, socket);
  return Close(socket, result);
}

long DropCapabilities(const FlatStep& step) noexcept {
  bool may_stay = step.value == backend::kBoundingSetMayStay;
  for (long capability = 0; capability < 64; ++capability) {
    long result = Syscall(__NR_prctl, PR_CAPBSET_DROP, capability);
    if (result == -EPERM && may_stay) break;
    // Past the last one that this kernel has; these all have up to 40 (Linux 5.9).
    if (result == -EINVAL && capability > 40) break;
    if (result < 0) return result;
  }
  long result = Syscall(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (result < 0) return result;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  result = Syscall(__NR_capset, Arg(&header), Arg(none));
  if (result < 0) return result;
  return Syscall(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

long ApplyLandlock(const FlatSpec& spec) noexcept {
  uapi::LandlockRulesetAttr attributes{spec.handled_fs, spec.handled_net, spec.scoped};
  // An older kernel takes a shorter structure, and refuses a longer one only
  // where the rest is not zero.
  long ruleset = Syscall(__NR_landlock_create_ruleset, Arg(&attributes), sizeof(attributes), 0);
  if (ruleset < 0) return ruleset;
  for (uint64_t i = 0; i < spec.rule_count; ++i) {
    const backend::FlatRule& rule = spec.rules[i];
    bool optional = rule.optional != 0;
    long fd = Syscall(__NR_openat, AT_FDCWD, Arg(rule.path),
                      O_PATH | O_CLOEXEC | (optional ? O_NOFOLLOW : 0));
    if (fd < 0 && optional) continue;
    if (fd < 0) return Close(ruleset, fd);
    uapi::LandlockPathBeneathAttr beneath{rule.access, static_cast<int32_t>(fd)};
    long result =
        Syscall(__NR_landlock_add_rule, ruleset, uapi::kLandlockRulePathBeneath, Arg(&beneath), 0);
    Syscall(__NR_close, fd);
    if (result < 0) return Close(ruleset, result);
  }
  return Close(ruleset, Syscall(__NR_landlock_restrict_self, ruleset, 0));
}

long SendFd(int socket, long fd) noexcept {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(header)) = static_cast<int>(fd);
  long sent = Syscall(__NR_sendmsg, socket, Arg(&message), 0);
  return sent < 0 ? sent : 0;
}

// A pseudo-terminal of `step.path` in place of the streams that
// `step.value` has a bit for; its master goes to the supervisor.
long MakeTerminal(const FlatStep& step) noexcept {
  long master = Syscall(__NR_openat, AT_FDCWD, Arg(step.path), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return master;
  int unlocked = 0;
  long result = Syscall(__NR_ioctl, master, TIOCSPTLCK, Arg(&unlocked));
  if (result < 0) return Close(master, result);
  long terminal = Syscall(__NR_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return Close(master, terminal);
  for (int stream = 0; stream < 3; ++stream) {
    if ((step.value & (1u << stream)) == 0) continue;
    result = Syscall(__NR_dup3, terminal, stream, 0);
    if (result < 0) return Close(master, Close(terminal, result));
  }
  Syscall(__NR_close, terminal);
  return Close(master, SendFd(kListenerSocketFd, master));
}

long ApplySeccomp(const FlatSpec& spec) noexcept {
  sock_fprog program{static_cast<unsigned short>(spec.filter_size),
                     const_cast<sock_filter*>(spec.filter)};
  unsigned long flags =
      uapi::kSeccompFilterFlagNewListener | uapi::kSeccompFilterFlagWaitKillableRecv;
  long listener =
      Syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, static_cast<long>(flags), Arg(&program));
  if (listener == -EINVAL) {  // WAIT_KILLABLE_RECV came with Linux 5.19
    listener = Syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
                       static_cast<long>(uapi::kSeccompFilterFlagNewListener), Arg(&program));
  }
  if (listener < 0) return listener;
  long result = SendFd(kListenerSocketFd, listener);
  Syscall(__NR_close, listener);
  // The broker resolves paths from the sandbox's root.
  long root = Syscall(__NR_openat, AT_FDCWD, Arg("/"), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (result < 0 || root < 0) return result < 0 ? result : root;
  return Close(root, SendFd(kListenerSocketFd, root));
}

long ApplyFilter(const FlatSpec& spec) noexcept {
  sock_fprog program{static_cast<unsigned short>(spec.filter_size),
                     const_cast<sock_filter*>(spec.filter)};
  return Syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, Arg(&program));
}

long SetLimit(const FlatStep& step) noexcept {
  struct {
    uint64_t soft, hard;
  } limit{step.value2, step.value2}, current{};
  // A limit only ever goes down: the caller may have a lower one already.
  long result = Syscall(__NR_prlimit64, 0, static_cast<long>(step.value), 0, Arg(&current));
  if (result < 0) return result;
  if (current.hard < limit.hard) limit.soft = limit.hard = current.hard;
  return Syscall(__NR_prlimit64, 0, static_cast<long>(step.value), Arg(&limit), 0);
}

long JoinSession() noexcept {
  long result = Syscall(__NR_setsid);
  // The first process of a pid namespace may lead its session already.
  if (result < 0 && result != -EPERM) return result;
  result = Syscall(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
  // Where a container engine refuses keys, the sandbox's filter does so too.
  return result == -ENOSYS || result == -EPERM || result >= 0 ? 0 : result;
}

// That signal follows the thread that made the clone; init follows the
// supervisor as a whole, by the control pipe.
void OutliveThread() noexcept { Syscall(__NR_prctl, PR_SET_PDEATHSIG, 0); }

long ExecInit(const FlatSpec& spec) noexcept {
  OutliveThread();
  return Syscall(__NR_execveat, kInitProgramFd, Arg(""), Arg(spec.init_argv), Arg(spec.environment),
                 AT_EMPTY_PATH);
}

// A supervisor that ends before init watches the control pipe has closed the socket
// that the stage sends its descriptors over, and the stage fails.
long ExecBubblewrap(const FlatSpec& spec, const FlatStep& step) noexcept {
  OutliveThread();
  return Syscall(__NR_execve, Arg(step.path), Arg(spec.init_argv), Arg(spec.environment));
}

// What another program mounted is believed only when seen.
long CheckMount(const FlatStep& step) noexcept {
  long fd = OpenExact(step.path, step.identity);
  if (fd < 0) return fd;
  struct statx seen;
  long result =
      Syscall(__NR_statx, fd, Arg(""), AT_EMPTY_PATH, STATX_TYPE | STATX_MODE, Arg(&seen));
  struct statfs mount;
  if (result == 0) result = Syscall(__NR_fstatfs, fd, Arg(&mount));
  Syscall(__NR_close, fd);
  if (result < 0) return result;
  constexpr uint64_t kMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT, Linux 5.8
  bool own = (seen.stx_attributes & kMountRoot) != 0;
  auto has = [&](long flag) { return (mount.f_flags & flag) != 0; };
  bool device = (seen.stx_mode & S_IFMT) == S_IFCHR;
  bool closed = device ? has(kStatNodev) : (seen.stx_mode & 0666) == 0;
  if (!own || !has(kStatNosuid) || !has(kStatNodev)) return -ESTALE;
  if ((step.value & backend::kMountReadOnly) != 0 && !has(kStatReadOnly)) return -ESTALE;
  return (step.value & backend::kMountClosed) != 0 && !closed ? -ESTALE : 0;
}

long Keep(Child& child, const FlatStep& step, long fd) noexcept {
  if (fd < 0) return fd;
  child.slots[step.slot] = static_cast<int>(fd);
  return 0;
}

long Run(Child& child, const FlatStep& step) noexcept {
  int* slots = child.slots;
  switch (step.op) {
    case Op::kWriteFile:
      return WriteFile(step);
    case Op::kJoinSession:
      return JoinSession();
    case Op::kOpenTree:
      return Keep(child, step, OpenTree(step));
    case Op::kCloneSlot:
      return Keep(child, step,
                  Syscall(__NR_open_tree, slots[step.from], Arg(step.path),
                          uapi::kOpenTreeClone | uapi::kOpenTreeCloexec |
                              (step.path[0] == '\0' ? AT_EMPTY_PATH : 0)));
    case Op::kTmpfs:
      return Keep(child, step, NewTmpfs(step));
    case Op::kProc:
      return Keep(child, step, NewPlain("proc"));
    case Op::kSysfs:
      return Keep(child, step, NewSysfs(step));
    case Op::kDevpts:
      return Keep(child, step, NewDevpts());
    case Op::kAttributes:
      return SetAttributes(slots[step.slot], "", step.value, step.value2, 0);
    case Op::kMakeDir:
      return Syscall(__NR_mkdirat, slots[step.slot], Arg(step.path), static_cast<long>(step.value));
    case Op::kMakeFile: {
      long fd = Syscall(__NR_openat, slots[step.slot], Arg(step.path),
                        O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, static_cast<long>(step.value));
      if (fd < 0 || step.size == 0) return fd < 0 ? fd : Close(fd, 0);
      long written = Syscall(__NR_write, fd, Arg(step.data), static_cast<long>(step.size));
      bool whole = written == static_cast<long>(step.size);
      return Close(fd, written < 0 ? written : whole ? 0 : -ENOSPC);
    }
    case Op::kMakeLink:
      return Syscall(__NR_symlinkat, Arg(step.data), slots[step.slot], Arg(step.path));
    case Op::kSealRoot:
      return SetAttributes(AT_FDCWD, "/", step.value, 0, uapi::kMsPrivate);
    case Op::kEnterRoot:
      return EnterRoot(slots[step.slot]);
    case Op::kAttach:
      return Attach(slots[step.slot], step);
    case Op::kStash:
      return Stash(slots[step.slot], step);
    case Op::kTerminal:
      return MakeTerminal(step);
    case Op::kLoopback:
      return LoopbackUp();
    case Op::kNetlink:
      return RunNetlink(step);
    case Op::kListen:
      return Listen(step);
    case Op::kLimit:
      return SetLimit(step);
    case Op::kUmask:
      Syscall(__NR_umask, static_cast<long>(step.value));
      return 0;
    case Op::kChdir:
      return Syscall(__NR_chdir, Arg(step.path));
    case Op::kCheckMount:
      return CheckMount(step);
    case Op::kForbidUserNamespaces:
      return WriteFile(step);
    case Op::kDropCapabilities:
      return DropCapabilities(step);
    case Op::kLandlock:
      return ApplyLandlock(*child.spec);
    case Op::kSeccomp:
      return ApplySeccomp(*child.spec);
    case Op::kFilter:
      return ApplyFilter(*child.spec);
    case Op::kExecInit:
      return ExecInit(*child.spec);
    case Op::kExecBubblewrap:
      return ExecBubblewrap(*child.spec, step);
  }
  return -EINVAL;
}

// Puts the descriptors at their fixed numbers and closes all others. They are
// first moved out of the way of each other.
long PlaceFds(const ChildInput& input) noexcept {
  const ChildFds& fds = input.fds;
  const int from[] = {fds.standard[0], fds.standard[1], fds.standard[2], fds.control,
                      fds.status,      fds.listener,    fds.init};
  constexpr int kMost = kFirstFreeFd + kMostPassedFds;
  long parked[kMost];
  int count = kFirstFreeFd + input.passed_count;
  for (int i = 0; i < count; ++i) {
    int fd = i < kFirstFreeFd ? from[i] : input.passed[i - kFirstFreeFd];
    parked[i] = Syscall(__NR_fcntl, fd, F_DUPFD_CLOEXEC, kMost);
    if (parked[i] < 0) return parked[i];
  }
  for (int i = 0; i < count; ++i) {
    bool kept = i <= kStatusFd || input.passed_count > 0;
    long result = Syscall(__NR_dup3, parked[i], i, kept ? 0 : O_CLOEXEC);
    if (result < 0) return result;
  }
  unsigned first = input.others == Others::kKept ? ~0u : static_cast<unsigned>(count);
  return Syscall(__NR_close_range, first, ~0u, 0);
}

// Before all else: what the child does counts from here on.
long JoinCgroups(std::span<const int> cgroups) noexcept {
  for (int procs : cgroups) {
    if (long result = Syscall(__NR_write, procs, Arg("0"), 1); result < 0) return result;
  }
  return 0;
}

int Fail(int status_fd, long error, size_t step) noexcept {
  Report report{};
  report.kind = ReportKind::kSetupFailed;
  report.value = static_cast<int32_t>(-error);
  report.detail = step;
  Syscall(__NR_write, status_fd, Arg(&report), sizeof(report));
  return 125;
}

}  // namespace

long RunSteps(const FlatStep* steps, size_t count) noexcept {
  Child child{nullptr, {}};
  for (size_t i = 0; i < count; ++i) {
    if (long result = Run(child, steps[i]); result < 0) return result;
  }
  return 0;
}

long RunHere(const FlatSpec& spec) noexcept {
  Child child{&spec, {}};
  for (uint64_t i = 0; i < spec.step_count; ++i) {
    if (long result = Run(child, spec.steps[i]); result < 0) return result;
  }
  return 0;
}

int RunChild(const ChildInput& input) noexcept {
  const FlatSpec& spec = *input.spec;
  Child child{&spec, {}};
  long joined = JoinCgroups(input.cgroups);
  if (joined < 0) return Fail(input.fds.status, joined, spec.step_count);
  // unshare(CLONE_FILES) by a call that container engines let pass: nothing is closed.
  constexpr unsigned kPastAll = 0x7fffffff;
  long result = Syscall(__NR_close_range, kPastAll, ~0u, uapi::kCloseRangeUnshare);
  if (result == 0) result = PlaceFds(input);
  if (result < 0) return Fail(input.fds.status, result, spec.step_count);
  for (uint64_t i = 0; i < spec.step_count; ++i) {
    result = Run(child, spec.steps[i]);
    if (result < 0) return Fail(kStatusFd, result, i);
  }
  return Fail(kStatusFd, -ENOEXEC, spec.step_count);
}

}  // namespace cordon::spawn
