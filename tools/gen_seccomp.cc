// Build-time generator: compiles the seccomp filters with libseccomp into
// decision trees and prints them as C++ arrays, so that a run installs a
// ready program and the binary carries no compiler. The policies themselves, of
// the sandbox and of the TLS companion ("tls" as an argument), are the lists below;
// tests/seccomp evaluates the results for every system call.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/linux/denied_calls.h"

namespace {

// What the program is for. Without namespaces the broker opens every file and
// changes every name, and the network is the host's: sockets are limited by mode.
// A process that confines itself has no broker: nothing is notified.
enum class Purpose {
  kNamespaces,
  kNesting,
  kLandlockNone,
  kLandlockProxy,
  kLandlockOpen,
  kSelfNone,
  kSelfOpen
};

// Whether new processes are counted by the broker: without namespaces, with a limit.
enum class Processes { kAny, kCounted };

bool WithoutNamespaces(Purpose purpose) {
  return purpose != Purpose::kNamespaces && purpose != Purpose::kNesting;
}

bool IsSelf(Purpose purpose) {
  return purpose == Purpose::kSelfNone || purpose == Purpose::kSelfOpen;
}

constexpr uint32_t kEperm = SCMP_ACT_ERRNO(EPERM);
constexpr uint32_t kEnosys = SCMP_ACT_ERRNO(ENOSYS);
constexpr uint32_t kNoFamily = SCMP_ACT_ERRNO(EAFNOSUPPORT);
constexpr uint32_t kNoProtocol = SCMP_ACT_ERRNO(EPROTONOSUPPORT);

// System calls up to this number were looked at when the list was written
// (Linux 6.13: removexattrat); later ones do not exist for the sandbox.
constexpr uint32_t kLastKnownSyscall = 466;

constexpr uint32_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80 /* TIME */;

[[noreturn]] void Die(const char* what, int error) {
  std::fprintf(stderr, "gen_seccomp: %s: %d\n", what, error);
  std::exit(1);
}

class Filter {
 public:
  explicit Filter(uint32_t otherwise) : context_(seccomp_init(otherwise)) {
    seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    seccomp_attr_set(context_, SCMP_FLTATR_API_TSKIP, 1);
  }
  ~Filter() { seccomp_release(context_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void Add(uint32_t action, int nr, std::vector<scmp_arg_cmp> when = {}) {
    int error = seccomp_rule_add_array(context_, action, nr, static_cast<unsigned>(when.size()),
                                       when.data());
    if (error != 0) Die("rule", error);
  }
  // A call that this architecture does not have is nothing to filter.
  void Add(uint32_t action, const char* name, std::vector<scmp_arg_cmp> when = {}) {
    int nr = seccomp_syscall_resolve_name(name);
    if (nr == __NR_SCMP_ERROR) Die(name, nr);
    if (nr >= 0) Add(action, nr, std::move(when));
  }

  void AppendTo(std::vector<sock_filter>& program) {
    FILE* file = std::tmpfile();
    if (int error = seccomp_export_bpf(context_, fileno(file)); error != 0) Die("export", error);
    if (std::fseek(file, 0, SEEK_SET) != 0) Die("seek", errno);
    sock_filter instruction;
    while (std::fread(&instruction, sizeof(instruction), 1, file) == 1) {
      program.push_back(instruction);
    }
    std::fclose(file);
  }

 private:
  scmp_filter_ctx context_;
};

// What depends on bits of an argument. libseccomp has no "any of these bits" and
// no "none of these values": it would take a rule for each, 450 instructions
// more, which the kernel translates at the start of every run. So these calls
// have a block of their own in front of its program: a block may refuse or
// notify, and goes on to libseccomp's program otherwise.
class ArgumentChecks {
 public:
  using Block = std::vector<sock_filter>;

  void Add(const char* name, Block block) {
    int nr = seccomp_syscall_resolve_name(name);
    if (nr == __NR_SCMP_ERROR) Die(name, nr);
    if (nr >= 0) Add(nr, std::move(block));
  }
  void Add(int nr, Block block) {
    block.push_back(LoadNumber());
    if (!blocks_.emplace(nr, std::move(block)).second) Die("two blocks for one call", nr);
  }

  // Expects the number of the call in A, and leaves it there.
  Block Program() const {
    std::vector<std::pair<int, Block>> sorted(blocks_.begin(), blocks_.end());
    return Tree(sorted);
  }

  static sock_filter LoadNumber() {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  }

 private:
  static Block Tree(std::span<const std::pair<int, Block>> blocks) {
    Block program;
    if (blocks.size() == 1) {
      const auto& [nr, block] = blocks[0];
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(nr), 0,
                                 static_cast<uint8_t>(block.size())));
      program.insert(program.end(), block.begin(), block.end());
      return program;
    }
    size_t half = blocks.size() / 2;
    Block below = Tree(blocks.first(half)), above = Tree(blocks.subspan(half));
    auto middle = static_cast<uint32_t>(blocks[half].first);
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, middle, 0, 1));
    program.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(below.size() + 1)));
    program.insert(program.end(), below.begin(), below.end());
    program.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(above.size())));
    program.insert(program.end(), above.begin(), above.end());
    return program;
  }

  std::map<int, Block> blocks_;
};

// The lower half of an argument: all that the kernel looks at in the calls below.
sock_filter Argument(unsigned index) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                  static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * index));
}
sock_filter Return(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter Mask(uint32_t mask) { return BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask); }
sock_filter Skip(uint32_t count) { return BPF_STMT(BPF_JMP | BPF_JA, count); }
// Jumps over `count` instructions if A is the value; if it has any of the bits.
sock_filter SkipIf(uint32_t value, uint8_t count) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, count, 0);
}
sock_filter SkipUnlessAny(uint32_t bits, uint8_t count) {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, count);
}
sock_filter SkipIfAny(uint32_t bits, uint8_t count) {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, count, 0);
}

scmp_arg_cmp Equal(unsigned arg, uint64_t value) { return {arg, SCMP_CMP_EQ, value, 0}; }
scmp_arg_cmp Not(unsigned arg, uint64_t value) { return {arg, SCMP_CMP_NE, value, 0}; }
void DenySurface(Filter& filter) {
  for (const char* name : cordon::backend::kDeniedCalls) {
    filter.Add(kEperm, name);
  }
  for (const char* name : cordon::backend::kMissingCalls) {
    filter.Add(kEnosys, name);
  }
  // A process may trace its own children (PTRACE_TRACEME); attaching to
  // another one is refused.
  constexpr uint64_t kAttach = 16, kSeize = 0x4206;
  filter.Add(kEperm, "ptrace", {Equal(0, kAttach)});
  filter.Add(kEperm, "ptrace", {Equal(0, kSeize)});
  // Limits of another process, init's among them.
  filter.Add(kEperm, "prlimit64", {Not(0, 0), Not(2, 0)});
}

// Terminal input injection, whatever the upper bits of the request say.
ArgumentChecks::Block TerminalTricks() {
  constexpr uint32_t kTiocsti = 0x5412, kTioclinux = 0x541C, kTioccons = 0x541D;
  return {Argument(1), SkipIf(kTiocsti, 2), SkipIf(kTioclinux, 1),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kTioccons, 0, 1), Return(kEperm)};
}

// What changes a file or a directory through a descriptor that only reads it; a
// read-only mount would refuse these. Of btrfs all but cloning. And whom a descriptor
// signals.
ArgumentChecks::Block ChangesByReaders() {
  constexpr uint32_t kSetFlags = 0x40086602, kSetFlags32 = 0x40046602, kSetVersion = 0x40087602,
                     kSetVersion32 = 0x40047602, kSetXattr = 0x401c5820, kVerity = 0x40806685,
                     kEncryption = 0x800c6613, kFileOwner = 0x8901, kSocketOwner = 0x8902;
  constexpr uint32_t kClone = 0x40049409, kCloneRange = 0x4020940d, kDedupe = 0xc0189436;
  ArgumentChecks::Block block = {Argument(1)};
  const uint32_t changes[] = {kSetFlags, kSetFlags32, kSetVersion, kSetVersion32, kSetXattr,
                              kVerity,   kEncryption, kFileOwner,  kSocketOwner};
  uint8_t left = std::size(changes);
  for (uint32_t request : changes) block.push_back(SkipIf(request, left--));
  // Reached by falling through: none of them.
  block.push_back(Skip(1));
  block.push_back(Return(kEperm));
  for (uint32_t request : {kClone, kCloneRange, kDedupe}) {
    block.push_back(SkipIf(request, static_cast<uint8_t>(request == kClone        ? 5
                                                         : request == kCloneRange ? 4
                                                                                  : 3)));
  }
  block.push_back(Mask(0xff00));
  block.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x9400, 0, 1));
  block.push_back(Return(kEperm));
  return block;
}

// Persona flags but UNAME26, and all ones, which is a query.
void DenyPersonas(ArgumentChecks& checks) {
  constexpr uint32_t kFlags = 0xffff0000 & ~0x20000u;
  checks.Add("personality",
             {Argument(0), SkipIf(0xffffffff, 2), SkipUnlessAny(kFlags, 1), Return(kEperm)});
}

void DenyNamespaces(Filter& filter, ArgumentChecks& checks, Purpose purpose, Processes processes) {
  uint32_t refused = purpose == Purpose::kNesting ? uint32_t{CLONE_NEWCGROUP} : kNamespaceFlags;
  checks.Add("unshare", {Argument(0), SkipUnlessAny(refused, 1), Return(kEperm)});
  // In clone() the low byte is the exit signal, so CLONE_NEWTIME cannot be
  // asked for there.
  ArgumentChecks::Block clone = {Argument(0), SkipUnlessAny(refused & ~0xffu, 1), Return(kEperm)};
  if (processes == Processes::kCounted) {
    clone.push_back(Return(SECCOMP_RET_USER_NOTIF));
    for (const char* name : {"fork", "vfork"}) filter.Add(SCMP_ACT_NOTIFY, name);
  }
  checks.Add("clone", clone);
  if (purpose != Purpose::kNesting) filter.Add(kEperm, "chroot");
}

// UNIX: stream and seqpacket; a datagram (or RAW, its alias) can be sent to any
// path without connecting.
ArgumentChecks::Block UnixTypes() {
  return {Argument(1), Mask(0xf), SkipIf(SOCK_STREAM, 2), SkipIf(SOCK_SEQPACKET, 1),
          Return(kNoFamily)};
}

// INET: stream and datagram; protocols 0, TCP and UDP. Others are rarely used code
// of the kernel's that a socket call may even load (SCTP, DCCP, L2TP, SMC), or ICMP.
ArgumentChecks::Block InternetTypes() {
  return {Argument(1),
          Mask(0xf),
          SkipIf(SOCK_STREAM, 2),
          SkipIf(SOCK_DGRAM, 1),
          Return(kNoFamily),
          Argument(2),
          SkipIf(0, 3),
          SkipIf(IPPROTO_TCP, 2),
          SkipIf(IPPROTO_UDP, 1),
          Return(kNoProtocol)};
}

// Route netlink only.
ArgumentChecks::Block NetlinkTypes() { return {Argument(2), SkipIf(0, 1), Return(kNoFamily)}; }

void Append(ArgumentChecks::Block& block, const ArgumentChecks::Block& more) {
  block.insert(block.end(), more.begin(), more.end());
}

// Only TCP, which is connected by the broker.
ArgumentChecks::Block StreamsOnly() {
  return {Argument(1), Mask(0xf),    SkipIf(SOCK_STREAM, 1), Return(kNoFamily),
          Argument(2), SkipIf(0, 2), SkipIf(IPPROTO_TCP, 1), Return(kNoProtocol)};
}

// On the host's own network: none of it, or TCP to where the broker connects it.
void LimitHostSockets(ArgumentChecks& checks, Purpose purpose) {
  ArgumentChecks::Block local = UnixTypes(), streams = StreamsOnly();
  ArgumentChecks::Block block = {Argument(0)};
  if (purpose == Purpose::kLandlockProxy) {
    auto to_streams = static_cast<uint8_t>(local.size() + 1);
    Append(block, {SkipIf(AF_UNIX, 3), SkipIf(AF_INET, static_cast<uint8_t>(2 + to_streams)),
                   SkipIf(AF_INET6, static_cast<uint8_t>(1 + to_streams)), Return(kNoFamily)});
    Append(block, local);
    block.push_back(Skip(static_cast<uint32_t>(streams.size())));
    Append(block, streams);
  } else {
    Append(block, {SkipIf(AF_UNIX, 1), Return(kNoFamily)});
    Append(block, local);
  }
  checks.Add("socket", block);
  block = {Argument(0), SkipIf(AF_UNIX, 1), Return(kNoFamily)};
  Append(block, local);
  checks.Add("socketpair", block);
}

void LimitSockets(ArgumentChecks& checks) {
  ArgumentChecks::Block local = UnixTypes(), internet = InternetTypes(), netlink = NetlinkTypes();
  auto over = [](const ArgumentChecks::Block& block) { return static_cast<uint8_t>(block.size()); };
  uint8_t to_internet = static_cast<uint8_t>(over(local) + 1);
  uint8_t to_netlink = static_cast<uint8_t>(to_internet + over(internet) + 1);
  ArgumentChecks::Block block = {Argument(0),
                                 SkipIf(AF_UNIX, 4),
                                 SkipIf(AF_INET, static_cast<uint8_t>(3 + to_internet)),
                                 SkipIf(AF_INET6, static_cast<uint8_t>(2 + to_internet)),
                                 SkipIf(AF_NETLINK, static_cast<uint8_t>(1 + to_netlink)),
                                 Return(kNoFamily)};
  Append(block, local);
  block.push_back(Skip(over(internet) + 1u + over(netlink)));
  Append(block, internet);
  block.push_back(Skip(over(netlink)));
  Append(block, netlink);
  checks.Add("socket", block);

  block = {Argument(0), SkipIf(AF_UNIX, 1), Return(kNoFamily)};
  Append(block, local);
  checks.Add("socketpair", block);
}

// No set-user-id or set-group-id bit, anywhere: on an id-mapped or shared file
// system it would hold outside too. (Creating calls are the broker's to check.)
void DenySetuid(ArgumentChecks& checks, Purpose purpose) {
  auto mode = [&](unsigned argument) -> ArgumentChecks::Block {
    ArgumentChecks::Block block = {Argument(argument), SkipUnlessAny(06000, 1), Return(kEperm)};
    bool notify = WithoutNamespaces(purpose) && !IsSelf(purpose);
    if (notify) block.push_back(Return(SECCOMP_RET_USER_NOTIF));
    return block;
  };
  checks.Add("chmod", mode(1));
  checks.Add("fchmod", mode(1));
  checks.Add("fchmodat", mode(2));
  checks.Add(452 /* fchmodat2 */, mode(2));
}

// What the broker does on the caller's behalf: all that makes a name. A file
// without one (O_TMPFILE) is opened as usual, without set-id bits.
void Notify(Filter& filter, ArgumentChecks& checks) {
  auto opening = [](unsigned flags) -> ArgumentChecks::Block {
    constexpr uint32_t kNameless = O_TMPFILE & ~O_DIRECTORY;
    // With O_PATH nothing is created: the kernel takes O_CREAT away then.
    return {Argument(flags),
            Mask(O_CREAT | O_PATH),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_CREAT, 0, 1),
            Return(SECCOMP_RET_USER_NOTIF),
            Argument(flags),
            SkipUnlessAny(kNameless, 3),
            Argument(flags + 1),
            SkipUnlessAny(06000, 1),
            Return(kEperm)};
  };
  checks.Add("open", opening(1));
  checks.Add("openat", opening(2));
  for (const char* name :
       {"creat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "symlink",
        "symlinkat", "mknod", "mknodat", "bind", "connect", "umask"}) {
    filter.Add(SCMP_ACT_NOTIFY, name);
  }
  filter.Add(kEnosys, "openat2");  // its flags are behind a pointer
}

// Without namespaces: the broker opens files, changes names and what is written
// about them, and knows which processes are the command's. A descriptor with
// O_PATH gives nothing to read.
void NotifyAll(Filter& filter, ArgumentChecks& checks) {
  auto opening = [](unsigned flags) -> ArgumentChecks::Block {
    return {Argument(flags), SkipIfAny(O_PATH, 1), Return(SECCOMP_RET_USER_NOTIF)};
  };
  checks.Add("open", opening(1));
  checks.Add("openat", opening(2));
  for (const char* name : {"creat",
                           "mkdir",
                           "mkdirat",
                           "rename",
                           "renameat",
                           "renameat2",
                           "link",
                           "linkat",
                           "symlink",
                           "symlinkat",
                           "mknod",
                           "mknodat",
                           "unlink",
                           "unlinkat",
                           "rmdir",
                           "truncate",
                           "chown",
                           "lchown",
                           "fchown",
                           "fchownat",
                           "utime",
                           "utimes",
                           "futimesat",
                           "utimensat",
                           "setxattr",
                           "lsetxattr",
                           "fsetxattr",
                           "removexattr",
                           "lremovexattr",
                           "fremovexattr",
                           "bind",
                           "connect",
                           "listen",
                           "umask",
                           "inotify_add_watch",
                           "kill",
                           "tkill",
                           "tgkill",
                           "rt_sigqueueinfo",
                           "rt_tgsigqueueinfo",
                           "pidfd_send_signal"}) {
    filter.Add(SCMP_ACT_NOTIFY, name);
  }
  filter.Add(kEnosys, "openat2");  // its flags are behind a pointer
  for (int number : {463 /* setxattrat */, 466 /* removexattrat */}) filter.Add(kEnosys, number);
}

// Priority and processors of processes that are not the command's. The one that
// calls (0) needs no question.
void NotifyScheduling(Filter& filter) {
  for (const char* name :
       {"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"}) {
    filter.Add(SCMP_ACT_NOTIFY, name, {Not(0, 0)});
  }
  constexpr uint64_t kPriorityUser = 2, kIoPriorityUser = 3;
  filter.Add(kEperm, "setpriority", {Equal(0, kPriorityUser)});
  filter.Add(kEperm, "ioprio_set", {Equal(0, kIoPriorityUser)});
  filter.Add(SCMP_ACT_NOTIFY, "setpriority", {Not(0, kPriorityUser), Not(1, 0)});
  filter.Add(SCMP_ACT_NOTIFY, "ioprio_set", {Not(0, kIoPriorityUser), Not(1, 0)});
}

// Whom the kernel signals when a descriptor is ready: a way to signal anyone. A number
// is asked about; where it is behind a pointer, refused.
void AskForOwners(ArgumentChecks& checks) {
  constexpr uint32_t kSetOwner = 8, kSetOwnerEx = 15;  // F_SETOWN, F_SETOWN_EX
  checks.Add("fcntl", {Argument(1), SkipIf(kSetOwner, 2),
                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSetOwnerEx, 0, 2), Return(kEperm),
                       Return(SECCOMP_RET_USER_NOTIF)});
}

// Shared memory, semaphores and queues of System V, and queues of POSIX, are the
// host's own: there is no way to tell whose they are.
void DenyIpc(Filter& filter) {
  for (const char* name : {"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl",
                           "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"}) {
    filter.Add(kEnosys, name);
  }
}

// Data in the packet that opens a connection goes out without a connect().
void DenyFastOpen(ArgumentChecks& checks) {
  auto flags = [](unsigned argument) -> ArgumentChecks::Block {
    constexpr uint32_t kFastOpen = 0x20000000;
    return {Argument(argument), SkipUnlessAny(kFastOpen, 1), Return(kEperm)};
  };
  checks.Add("sendto", flags(3));
  checks.Add("sendmsg", flags(2));
  checks.Add("sendmmsg", flags(3));
}

void Print(const char* name, const std::vector<sock_filter>& program) {
  std::printf("inline constexpr sock_filter %s[] = {\n", name);
  for (const sock_filter& i : program) {
    std::printf("    {0x%x, %u, %u, 0x%x},\n", i.code, i.jt, i.jf, i.k);
  }
  std::printf("};\n\n");
}

// The architecture first: all later numbers are this one's. Numbers past the last
// known one do not exist; x32 numbers are past it too.
std::vector<sock_filter> Build(Purpose purpose, Processes processes = Processes::kAny) {
  Filter filter(SCMP_ACT_ALLOW);
  ArgumentChecks checks;
  DenySurface(filter);
  ArgumentChecks::Block ioctl = TerminalTricks();
  if (WithoutNamespaces(purpose)) Append(ioctl, ChangesByReaders());
  checks.Add("ioctl", ioctl);
  DenyPersonas(checks);
  DenyNamespaces(filter, checks, purpose, processes);
  DenySetuid(checks, purpose);
  bool quiet = purpose == Purpose::kLandlockNone || purpose == Purpose::kLandlockProxy ||
               purpose == Purpose::kSelfNone;
  if (quiet) {
    LimitHostSockets(checks, purpose);
    DenyFastOpen(checks);
  } else {
    LimitSockets(checks);
  }
  if (IsSelf(purpose)) {
    DenyIpc(filter);
  } else if (WithoutNamespaces(purpose)) {
    NotifyAll(filter, checks);
    NotifyScheduling(filter);
    AskForOwners(checks);
    DenyIpc(filter);
  } else {
    Notify(filter, checks);
  }
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      SkipIf(seccomp_arch_native(), 1),
      Return(SECCOMP_RET_KILL_PROCESS),
      ArgumentChecks::LoadNumber(),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLastKnownSyscall, 0, 1),
      Return(kEnosys),
  };
  for (const sock_filter& instruction : checks.Program()) program.push_back(instruction);
  filter.AppendTo(program);
  return program;
}

// The companion, once it has begun: it works with the descriptors that it is handed.
// It makes no socket, connects and opens nothing, sends no descriptor on and maps
// no code.
std::vector<sock_filter> BuildCompanion() {
  Filter filter(kEperm);
  for (const char* name :
       {"read",           "write",        "recvfrom",        "recvmsg",     "shutdown",
        "close",          "epoll_ctl",    "epoll_wait",      "epoll_pwait", "futex",
        "munmap",         "mremap",       "madvise",         "brk",         "clock_gettime",
        "gettimeofday",   "time",         "getrandom",       "getpid",      "gettid",
        "rt_sigprocmask", "rt_sigreturn", "restart_syscall", "sched_yield", "exit",
        "exit_group"}) {
    filter.Add(SCMP_ACT_ALLOW, name);
  }
  filter.Add(SCMP_ACT_ALLOW, "sendto", {Equal(4, 0)});  // to whom it is connected
  for (const char* name : {"mmap", "mprotect"}) {
    filter.Add(SCMP_ACT_ALLOW, name, {{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}});
  }
  for (uint64_t command : {F_GETFL, F_SETFL}) {
    filter.Add(SCMP_ACT_ALLOW, "fcntl", {Equal(1, command)});
  }
  std::vector<sock_filter> program;
  filter.AppendTo(program);
  return program;
}

void Begin(const char* space) {
  std::printf(
      "// Generated by tools/gen_seccomp.cc. Do not edit.\n#pragma once\n\n"
      "#include <linux/filter.h>\n\nnamespace cordon::%s {\n\n",
      space);
}

}  // namespace

int main(int argc, char** argv) {
  bool companion = argc > 1 && std::string_view(argv[1]) == "tls";
  const char* space = companion ? "tls" : "backend";
  Begin(space);
  if (companion) {
    Print("kCompanionProgram", BuildCompanion());
  } else {
    Print("kSeccompProgram", Build(Purpose::kNamespaces));
    Print("kSeccompProgramNesting", Build(Purpose::kNesting));
    Print("kSeccompLandlockNone", Build(Purpose::kLandlockNone));
    Print("kSeccompLandlockProxy", Build(Purpose::kLandlockProxy));
    Print("kSeccompLandlockOpen", Build(Purpose::kLandlockOpen));
    Print("kSeccompSelfNone", Build(Purpose::kSelfNone));
    Print("kSeccompSelfOpen", Build(Purpose::kSelfOpen));
    Print("kSeccompCountedNone", Build(Purpose::kLandlockNone, Processes::kCounted));
    Print("kSeccompCountedProxy", Build(Purpose::kLandlockProxy, Processes::kCounted));
    Print("kSeccompCountedOpen", Build(Purpose::kLandlockOpen, Processes::kCounted));
  }
  std::printf("}  // namespace cordon::%s\n", space);
  return 0;
}
