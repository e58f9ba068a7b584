// Build-time generator: compiles the seccomp filters with libseccomp into
// decision trees and prints them as C++ arrays, so that a run installs a
// ready program and the binary carries no compiler. The policy itself is the
// list below; tests/seccomp evaluates the result for every system call.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

enum class Nesting { kDenied, kAllowed };

constexpr uint32_t kEperm = SCMP_ACT_ERRNO(EPERM);
constexpr uint32_t kEnosys = SCMP_ACT_ERRNO(ENOSYS);
constexpr uint32_t kNoFamily = SCMP_ACT_ERRNO(EAFNOSUPPORT);
constexpr uint32_t kNoProtocol = SCMP_ACT_ERRNO(EPROTONOSUPPORT);

// System calls up to this number were looked at when the list was written
// (Linux 6.13: removexattrat); later ones do not exist for the sandbox.
constexpr uint32_t kLastKnownSyscall = 466;

constexpr uint64_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80 /* TIME */;

[[noreturn]] void Die(const char* what, int error) {
  std::fprintf(stderr, "gen_seccomp: %s: %d\n", what, error);
  std::exit(1);
}

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ALLOW)) {
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

  std::vector<sock_filter> Export() {
    FILE* file = std::tmpfile();
    if (int error = seccomp_export_bpf(context_, fileno(file)); error != 0) Die("export", error);
    if (std::fseek(file, 0, SEEK_SET) != 0) Die("seek", errno);
    std::vector<sock_filter> program = Prologue();
    sock_filter instruction;
    while (std::fread(&instruction, sizeof(instruction), 1, file) == 1) {
      program.push_back(instruction);
    }
    std::fclose(file);
    return program;
  }

 private:
  // libseccomp cannot say "every number past N"; jumps in BPF are relative, so
  // three instructions in front of its program can. x32 numbers are past N too.
  static std::vector<sock_filter> Prologue() {
    return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLastKnownSyscall, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)};
  }
  scmp_filter_ctx context_;
};

scmp_arg_cmp Equal(unsigned arg, uint64_t value) { return {arg, SCMP_CMP_EQ, value, 0}; }
scmp_arg_cmp Above(unsigned arg, uint64_t value) { return {arg, SCMP_CMP_GT, value, 0}; }
scmp_arg_cmp Not(unsigned arg, uint64_t value) { return {arg, SCMP_CMP_NE, value, 0}; }
scmp_arg_cmp Bits(unsigned arg, uint64_t mask, uint64_t value) {
  return {arg, SCMP_CMP_MASKED_EQ, mask, value};
}

void DenySurface(Filter& filter) {
  for (const char* name : {"mount",
                           "umount2",
                           "pivot_root",
                           "fsopen",
                           "fsconfig",
                           "fsmount",
                           "fspick",
                           "open_tree",
                           "move_mount",
                           "mount_setattr",
                           "setns",
                           "process_vm_readv",
                           "process_vm_writev",
                           "pidfd_getfd",
                           "kcmp",
                           "keyctl",
                           "add_key",
                           "request_key",
                           "bpf",
                           "perf_event_open",
                           "userfaultfd",
                           "kexec_load",
                           "kexec_file_load",
                           "init_module",
                           "finit_module",
                           "delete_module",
                           "create_module",
                           "swapon",
                           "swapoff",
                           "reboot",
                           "settimeofday",
                           "clock_settime",
                           "clock_adjtime",
                           "adjtimex",
                           "acct",
                           "quotactl",
                           "quotactl_fd",
                           "iopl",
                           "ioperm",
                           "syslog",
                           "sethostname",
                           "setdomainname",
                           "open_by_handle_at",
                           "lookup_dcookie",
                           "fanotify_init",
                           "vhangup",
                           "nfsservctl",
                           "uselib",
                           "sysfs",
                           "modify_ldt",
                           "move_pages",
                           "migrate_pages",
                           "memfd_secret"}) {
    filter.Add(kEperm, name);
  }
  for (const char* name : {"io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"}) {
    filter.Add(kEnosys, name);
  }
  // A process may trace its own children (PTRACE_TRACEME); attaching to
  // another one is refused.
  constexpr uint64_t kAttach = 16, kSeize = 0x4206;
  filter.Add(kEperm, "ptrace", {Equal(0, kAttach)});
  filter.Add(kEperm, "ptrace", {Equal(0, kSeize)});
  // Limits of another process, init's among them.
  filter.Add(kEperm, "prlimit64", {Not(0, 0), Not(2, 0)});
  // Terminal input injection, whatever the upper bits of the request say.
  for (uint64_t request :
       {0x5412u /* TIOCSTI */, 0x541Cu /* TIOCLINUX */, 0x541Du /* TIOCCONS */}) {
    filter.Add(kEperm, "ioctl", {Bits(1, 0xffffffff, request)});
  }
  // Persona flags but UNAME26 and the 32-bit personas; all ones is a query.
  for (uint64_t flag = 0x10000; flag <= 0x08000000; flag <<= 1) {
    if (flag == 0x20000) continue;
    filter.Add(kEperm, "personality", {Bits(0, flag | 0x80000000, flag)});
  }
  for (uint64_t other = 1; other < 0x80000000; other <<= 1) {  // the top bit, but not all ones
    filter.Add(kEperm, "personality", {Bits(0, other | 0x80000000, 0x80000000)});
  }
}

void DenyNamespaces(Filter& filter, Nesting nesting) {
  uint64_t refused = nesting == Nesting::kAllowed ? uint64_t{CLONE_NEWCGROUP} : kNamespaceFlags;
  for (uint64_t flag = 1; flag <= 0x80000000; flag <<= 1) {
    if ((refused & flag) == 0) continue;
    filter.Add(kEperm, "unshare", {Bits(0, flag, flag)});
    // In clone() the low byte is the exit signal, so CLONE_NEWTIME cannot be
    // asked for there.
    if (flag > 0xff) filter.Add(kEperm, "clone", {Bits(0, flag, flag)});
  }
  if (nesting == Nesting::kDenied) filter.Add(kEperm, "chroot");
}

void LimitSockets(Filter& filter) {
  // Families: UNIX 1, INET 2, INET6 10, NETLINK 16 (route only).
  for (uint64_t family : {0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15}) {
    filter.Add(kNoFamily, "socket", {Equal(0, family)});
    filter.Add(kNoFamily, "socketpair", {Equal(0, family)});
  }
  filter.Add(kNoFamily, "socket", {Above(0, 16)});
  filter.Add(kNoFamily, "socketpair", {Above(0, 16)});
  filter.Add(kNoFamily, "socket", {Equal(0, AF_NETLINK), Not(2, 0)});
  // UNIX: stream and seqpacket; a datagram (or RAW, its alias) can be sent to
  // any path without connecting. INET: stream and datagram.
  for (uint64_t type = 0; type <= 15; ++type) {
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET) {
      filter.Add(kNoFamily, "socket", {Equal(0, AF_UNIX), Bits(1, 0xf, type)});
      filter.Add(kNoFamily, "socketpair", {Equal(0, AF_UNIX), Bits(1, 0xf, type)});
    }
    if (type != SOCK_STREAM && type != SOCK_DGRAM) {
      filter.Add(kNoFamily, "socket", {Equal(0, AF_INET), Bits(1, 0xf, type)});
      filter.Add(kNoFamily, "socket", {Equal(0, AF_INET6), Bits(1, 0xf, type)});
    }
  }
  // Protocols: 0, TCP and UDP. Others are rarely used code of the kernel's that a
  // socket call may even load (SCTP, DCCP, L2TP, SMC), or ICMP.
  constexpr uint64_t kProtocolBits = IPPROTO_TCP | IPPROTO_UDP;
  for (uint64_t family : {AF_INET, AF_INET6}) {
    for (uint64_t bit = 1; bit <= 0x80000000; bit <<= 1) {
      if ((bit & kProtocolBits) != 0) continue;
      filter.Add(kNoProtocol, "socket", {Equal(0, family), Bits(2, bit, bit)});
    }
    for (uint64_t protocol = 1; protocol <= kProtocolBits; ++protocol) {
      bool known = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
      if (known || (protocol & ~kProtocolBits) != 0) continue;
      filter.Add(kNoProtocol, "socket", {Equal(0, family), Bits(2, 0xffffffff, protocol)});
    }
  }
}

// No set-user-id or set-group-id bit, anywhere: on an id-mapped or shared file
// system it would hold outside too. (Creating calls are the broker's to check.)
void DenySetuid(Filter& filter) {
  for (uint64_t bit : {04000, 02000}) {
    filter.Add(kEperm, "chmod", {Bits(1, bit, bit)});
    filter.Add(kEperm, "fchmod", {Bits(1, bit, bit)});
    filter.Add(kEperm, "fchmodat", {Bits(2, bit, bit)});
    filter.Add(kEperm, 452 /* fchmodat2 */, {Bits(2, bit, bit)});
    filter.Add(kEperm, "open",
               {Bits(1, O_TMPFILE & ~O_DIRECTORY, O_TMPFILE & ~O_DIRECTORY), Bits(2, bit, bit)});
    filter.Add(kEperm, "openat",
               {Bits(2, O_TMPFILE & ~O_DIRECTORY, O_TMPFILE & ~O_DIRECTORY), Bits(3, bit, bit)});
  }
}

// What the broker does on the caller's behalf.
void Notify(Filter& filter) {
  // With O_PATH nothing is created: the kernel takes O_CREAT away then.
  filter.Add(SCMP_ACT_NOTIFY, "open", {Bits(1, O_CREAT | O_PATH, O_CREAT)});
  filter.Add(SCMP_ACT_NOTIFY, "openat", {Bits(2, O_CREAT | O_PATH, O_CREAT)});
  for (const char* name :
       {"creat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "symlink",
        "symlinkat", "mknod", "mknodat", "bind", "connect", "umask"}) {
    filter.Add(SCMP_ACT_NOTIFY, name);
  }
  filter.Add(kEnosys, "openat2");  // its flags are behind a pointer
}

void Print(const char* name, const std::vector<sock_filter>& program) {
  std::printf("inline constexpr sock_filter %s[] = {\n", name);
  for (const sock_filter& i : program) {
    std::printf("    {0x%x, %u, %u, 0x%x},\n", i.code, i.jt, i.jf, i.k);
  }
  std::printf("};\n\n");
}

std::vector<sock_filter> Build(Nesting nesting) {
  Filter filter;
  DenySurface(filter);
  DenyNamespaces(filter, nesting);
  LimitSockets(filter);
  DenySetuid(filter);
  Notify(filter);
  return filter.Export();
}

}  // namespace

int main() {
  std::printf(
      "// Generated by tools/gen_seccomp.cc. Do not edit.\n#pragma once\n\n"
      "#include <linux/filter.h>\n\nnamespace cordon::backend {\n\n");
  Print("kSeccompProgram", Build(Nesting::kDenied));
  Print("kSeccompProgramNesting", Build(Nesting::kAllowed));
  std::printf("}  // namespace cordon::backend\n");
  return 0;
}
