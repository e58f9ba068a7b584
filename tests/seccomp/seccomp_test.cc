// Runs the generated filters in a small evaluator, over every system call number
// and over classes of arguments, and compares with what is written here: a list
// of its own, not the generator's.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/linux/seccomp_programs.h"
#include "tls/companion_program.h"

namespace {

using Args = std::array<uint64_t, 6>;
using Program = std::span<const sock_filter>;

// The instructions that seccomp takes and that the filters have.
uint32_t Evaluate(Program program, const seccomp_data& data) {
  uint32_t a = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& i = program[at];
    switch (i.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        memcpy(&a, reinterpret_cast<const char*>(&data) + i.k, sizeof(a));
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        a &= i.k;
        break;
      case BPF_JMP | BPF_JA:
        at += i.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += a == i.k ? i.jt : i.jf;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        at += a > i.k ? i.jt : i.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += a >= i.k ? i.jt : i.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (a & i.k) != 0 ? i.jt : i.jf;
        break;
      case BPF_RET | BPF_K:
        return i.k;
      default:
        ADD_FAILURE() << "instruction " << i.code << " at " << at;
        return 0;
    }
  }
  ADD_FAILURE() << "the program has no end";
  return 0;
}

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#else
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#endif
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t kNotify = SECCOMP_RET_USER_NOTIF;
constexpr uint32_t kNone = SECCOMP_RET_ERRNO | ENOSYS;
constexpr uint32_t kEperm = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;
constexpr uint32_t kProtocol = SECCOMP_RET_ERRNO | EPROTONOSUPPORT;

uint32_t Action(long number, Args args = {}, Program program = cordon::backend::kSeccompProgram,
                uint32_t arch = kArch) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = arch;
  memcpy(data.args, args.data(), sizeof(data.args));
  return Evaluate(program, data);
}

uint32_t Nested(long number, Args args = {}) {
  return Action(number, args, cordon::backend::kSeccompProgramNesting);
}

// Refused whatever the arguments are.
const std::set<long> kRefused = {
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_setns,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_open_tree,
    SYS_move_mount,
    SYS_mount_setattr,
    SYS_process_vm_readv,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_process_vm_writev,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_acct,
    SYS_quotactl,
    443 /* quotactl_fd */,
    SYS_syslog,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_vhangup,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_chroot,
    447 /* memfd_secret */,
    SYS_nfsservctl,
    SYS_lookup_dcookie,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_create_module,
    SYS_uselib,
    SYS_sysfs,
#endif
};
const std::set<long> kAbsent = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
                                SYS_clone3, SYS_openat2};
const std::set<long> kNotified = {
    SYS_mkdirat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_mknodat, SYS_bind,    SYS_connect,
    SYS_umask,
#if defined(__x86_64__)
    SYS_creat,   SYS_mkdir,     SYS_rename, SYS_renameat,  SYS_link,    SYS_symlink, SYS_mknod,
#endif
};
// Family 0 with type 0 is refused, of course.
const std::set<long> kByArgument = {SYS_socket, SYS_socketpair};

constexpr long kLastKnown = 466;

TEST(Seccomp, EveryNumberHasTheActionOfTheTable) {
  for (long number = 0; number <= 600; ++number) {
    if (kByArgument.contains(number)) continue;
    uint32_t expected = number > kLastKnown          ? kNone
                        : kRefused.contains(number)  ? kEperm
                        : kAbsent.contains(number)   ? kNone
                        : kNotified.contains(number) ? kNotify
                                                     : kAllow;
    EXPECT_EQ(Action(number), expected) << "call " << number;
  }
}

TEST(Seccomp, TheTableHoldsForAllArguments) {
  constexpr uint64_t kOnes = ~0ull;
  for (const auto& [calls, expected] :
       {std::pair(&kRefused, kEperm), std::pair(&kAbsent, kNone), std::pair(&kNotified, kNotify)}) {
    for (long number : *calls) {
      EXPECT_EQ(Action(number, {kOnes, kOnes, kOnes, kOnes, kOnes, kOnes}), expected) << number;
      EXPECT_EQ(Action(number, {1, 1, 1, 1, 1, 1}), expected) << number;
    }
  }
}

TEST(Seccomp, NegativeAndHugeNumbersAreAbsent) {
  for (long number : {-1L, -100L, 0x7fffffffL, 100000L}) EXPECT_EQ(Action(number), kNone);
}

#if defined(__x86_64__)
TEST(Seccomp, X32IsAbsent) {
  for (long number = 0; number <= 600; ++number) {
    EXPECT_EQ(Action(0x40000000 | number), kNone) << number;
  }
}
#endif

TEST(Seccomp, ForeignArchitecturesAreKilled) {
  for (uint32_t arch : {uint32_t{AUDIT_ARCH_I386}, uint32_t{AUDIT_ARCH_ARM}, 0u, ~0u}) {
    for (long number = 0; number <= kLastKnown; ++number) {
      uint32_t action = Action(number, {}, cordon::backend::kSeccompProgram, arch);
      EXPECT_EQ(action, SECCOMP_RET_KILL_PROCESS) << arch << " " << number;
    }
  }
}

TEST(Seccomp, OpenIsNotifiedWhenItMayCreate) {
  for (uint64_t high : {0ull, 1ull << 32, ~0ull << 32}) {
    EXPECT_EQ(Action(SYS_openat, {0, 0, high | O_CREAT | O_WRONLY, 0644}), kNotify);
    EXPECT_EQ(Action(SYS_openat, {0, 0, high | O_WRONLY | O_TRUNC, 0}), kAllow);
    EXPECT_EQ(Action(SYS_openat, {0, 0, high | O_TMPFILE | O_RDWR, 0600}), kAllow);
    EXPECT_EQ(Action(SYS_openat, {0, 0, high | O_TMPFILE | O_RDWR, 04755}), kEperm);
    EXPECT_EQ(Action(SYS_openat, {0, 0, high | O_TMPFILE | O_RDWR, 02755 | high}), kEperm);
  }
  // Both at once is refused by either.
  uint32_t both = Action(SYS_openat, {0, 0, O_TMPFILE | O_CREAT | O_RDWR, 04755});
  EXPECT_TRUE(both == kEperm || both == kNotify);
#if defined(__x86_64__)
  EXPECT_EQ(Action(SYS_open, {0, O_CREAT, 0644}), kNotify);
  EXPECT_EQ(Action(SYS_openat, {0, 0, O_CREAT | O_PATH, 0644}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Action(SYS_open, {0, O_RDONLY, 04755}), kAllow);
  EXPECT_EQ(Action(SYS_open, {0, O_TMPFILE | O_RDWR, 04755}), kEperm);
#endif
}

TEST(Seccomp, SetIdBitsAreRefusedInEveryMode) {
  for (uint64_t high : {0ull, 0xf0000ull, 1ull << 32, ~0ull << 32}) {
    for (uint64_t mode : {04000, 02000, 06755, 04755, 02755}) {
      EXPECT_EQ(Action(SYS_fchmod, {3, mode | high}), kEperm);
      EXPECT_EQ(Action(SYS_fchmodat, {3, 0, mode | high}), kEperm);
      EXPECT_EQ(Action(452, {3, 0, mode | high, 0x1000}), kEperm);
#if defined(__x86_64__)
      EXPECT_EQ(Action(SYS_chmod, {0, mode | high}), kEperm);
#endif
    }
  }
  for (uint64_t mode : {0u, 0644u, 0755u, 01777u}) {
    EXPECT_EQ(Action(SYS_fchmod, {3, mode}), kAllow);
    EXPECT_EQ(Action(SYS_fchmodat, {3, 0, mode}), kAllow);
    EXPECT_EQ(Action(452, {3, 0, mode}), kAllow);
  }
}

TEST(Seccomp, NoNewNamespaces) {
  constexpr uint64_t kFlags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                 CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
  for (uint64_t flag : kFlags) {
    for (uint64_t with : {uint64_t{0}, uint64_t{SIGCHLD}, uint64_t{CLONE_VM | CLONE_FS}}) {
      EXPECT_EQ(Action(SYS_unshare, {flag | with}), kEperm) << flag;
      EXPECT_EQ(Action(SYS_clone, {flag | with}), kEperm) << flag;
    }
    bool kept = flag != CLONE_NEWCGROUP;
    EXPECT_EQ(Nested(SYS_unshare, {flag}), kept ? kAllow : kEperm) << flag;
    EXPECT_EQ(Nested(SYS_clone, {flag}), kept ? kAllow : kEperm) << flag;
  }
  EXPECT_EQ(Action(SYS_unshare, {0x80}), kEperm);  // time
  EXPECT_EQ(Action(SYS_unshare, {CLONE_FS | CLONE_FILES}), kAllow);
  EXPECT_EQ(Action(SYS_clone, {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD}),
            kAllow);
  EXPECT_EQ(Action(SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}), kAllow);
}

TEST(Seccomp, NestingGivesNoMoreThanUserNamespaces) {
  for (long number = 0; number <= 600; ++number) {
    if (number == SYS_chroot) continue;
    EXPECT_EQ(Nested(number), Action(number)) << number;
  }
  EXPECT_EQ(Nested(SYS_chroot), kAllow);
  EXPECT_EQ(Nested(SYS_mount), kEperm);
}

TEST(Seccomp, TerminalInjectionWhateverTheUpperBitsSay) {
  for (uint64_t request : {0x5412ull, 0x541Cull, 0x541Dull}) {
    for (uint64_t high : {0ull, 1ull << 32, ~0ull << 32, 1ull << 63}) {
      EXPECT_EQ(Action(SYS_ioctl, {0, request | high}), kEperm) << request;
    }
  }
  for (uint64_t request : {0x5401ull, 0x5413ull, 0x540Eull, 0x541Bull, 0x541Eull}) {
    EXPECT_EQ(Action(SYS_ioctl, {0, request}), kAllow) << request;
  }
}

TEST(Seccomp, TracingIsForChildren) {
  EXPECT_EQ(Action(SYS_ptrace, {0}), kAllow);  // TRACEME
  EXPECT_EQ(Action(SYS_ptrace, {16, 1}), kEperm);
  EXPECT_EQ(Action(SYS_ptrace, {0x4206, 1}), kEperm);
  EXPECT_EQ(Action(SYS_ptrace, {7, 2}), kAllow);
}

TEST(Seccomp, LimitsOfOthers) {
  EXPECT_EQ(Action(SYS_prlimit64, {0, 7, 1234, 0}), kAllow);
  EXPECT_EQ(Action(SYS_prlimit64, {5, 7, 0, 1234}), kAllow);
  EXPECT_EQ(Action(SYS_prlimit64, {1, 7, 1234, 0}), kEperm);
}

// Flags and the query, as the kernel sees them: 32 bits.
TEST(Seccomp, PersonalityTakesNoFlagBack) {
  for (uint64_t fine : {0x0ull, 0x8ull, 0x20000ull, 0xffffffffull}) {
    EXPECT_EQ(Action(SYS_personality, {fine}), kAllow) << fine;
  }
  for (uint64_t flag = 0x10000; flag <= 0x08000000; flag <<= 1) {
    if (flag == 0x20000) continue;
    for (uint64_t with : {0ull, 0x8ull, 0x80000000ull, 0xf0000000ull, 1ull << 32}) {
      EXPECT_EQ(Action(SYS_personality, {flag | with}), kEperm) << flag << " with " << with;
    }
  }
}

uint32_t Socket(uint64_t family, uint64_t type, uint64_t protocol) {
  return Action(SYS_socket, {family, type, protocol});
}

TEST(Seccomp, Families) {
  const std::set<uint64_t> some = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  for (uint64_t family = 0; family < 300; ++family) {
    uint32_t action = Socket(family, SOCK_STREAM, 0);
    EXPECT_EQ(action, some.contains(family) ? kAllow : kFamily) << family;
    // The kernel takes the lower half; what is above changes nothing.
    EXPECT_EQ(Socket(family | (1ull << 32), SOCK_STREAM, 0), action) << family;
    EXPECT_EQ(Socket(family | (1ull << 63), SOCK_STREAM, 0), action) << family;
    if (family != AF_NETLINK) {
      EXPECT_EQ(Socket(family | (1ull << 32), SOCK_RAW, 0), kFamily) << family;
    }
    EXPECT_EQ(Action(SYS_socketpair, {family, SOCK_STREAM, 0}),
              family == AF_UNIX ? kAllow : kFamily)
        << family;
  }
}

TEST(Seccomp, TypesOfSockets) {
  for (uint64_t flags : {0, 0 | SOCK_CLOEXEC, 0 | SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
    for (uint64_t type = 0; type <= 15; ++type) {
      bool unix_ok = type == SOCK_STREAM || type == SOCK_SEQPACKET;
      bool inet_ok = type == SOCK_STREAM || type == SOCK_DGRAM;
      for (uint64_t high : {0ull, 1ull << 32}) {
        uint64_t word = type | flags | high;
        EXPECT_EQ(Socket(AF_UNIX, word, 0), unix_ok ? kAllow : kFamily) << word;
        EXPECT_EQ(Action(SYS_socketpair, {AF_UNIX, word, 0}), unix_ok ? kAllow : kFamily) << word;
        EXPECT_EQ(Socket(AF_INET, word, 0), inet_ok ? kAllow : kFamily) << word;
        EXPECT_EQ(Socket(AF_INET6, word, 0), inet_ok ? kAllow : kFamily) << word;
      }
    }
  }
}

TEST(Seccomp, Protocols) {
  for (uint64_t protocol = 0; protocol < 600; ++protocol) {
    bool fine = protocol == 0 || protocol == 6 || protocol == 17;
    for (uint64_t family : {AF_INET, AF_INET6}) {
      EXPECT_EQ(Socket(family, SOCK_STREAM, protocol), fine ? kAllow : kProtocol) << protocol;
      EXPECT_EQ(Socket(family, SOCK_DGRAM, protocol | (1ull << 32)), fine ? kAllow : kProtocol);
    }
    EXPECT_EQ(Socket(AF_NETLINK, SOCK_RAW, protocol), protocol == 0 ? kAllow : kFamily) << protocol;
  }
}

// ---- without namespaces ----------------------------------------------------

const std::map<std::string, Program> kLandlock = {{"none", cordon::backend::kSeccompLandlockNone},
                                                  {"proxy", cordon::backend::kSeccompLandlockProxy},
                                                  {"open", cordon::backend::kSeccompLandlockOpen}};
const std::map<std::string, Program> kCounted = {{"none", cordon::backend::kSeccompCountedNone},
                                                 {"proxy", cordon::backend::kSeccompCountedProxy},
                                                 {"open", cordon::backend::kSeccompCountedOpen}};

// Answered by the broker whatever the arguments are, besides those above.
const std::set<long> kNotifiedToo = {
    SYS_unlinkat,
    SYS_truncate,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_listen,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    424,
    SYS_inotify_add_watch,
    SYS_rt_tgsigqueueinfo,
#if defined(__x86_64__)
    SYS_unlink,
    SYS_rmdir,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
};
const std::set<long> kAbsentToo = {SYS_shmget,     SYS_shmat,  SYS_shmctl,  SYS_semget,
                                   SYS_semop,      SYS_semctl, SYS_msgget,  SYS_msgsnd,
                                   SYS_msgrcv,     SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
                                   SYS_semtimedop, 463,        466};
// By their arguments: opening, modes.
const std::set<long> kByArgumentToo = {
    SYS_openat, SYS_fchmod, SYS_fchmodat, 452,
#if defined(__x86_64__)
    SYS_open,   SYS_chmod,
#endif
};

TEST(SeccompLandlock, EveryNumberHasTheActionOfTheTable) {
  for (const auto& [mode, program] : kLandlock) {
    for (long number = 0; number <= 600; ++number) {
      bool by_argument = kByArgument.contains(number) || kByArgumentToo.contains(number);
      if (by_argument) continue;
      uint32_t expected = number > kLastKnown                                           ? kNone
                          : kRefused.contains(number)                                   ? kEperm
                          : kAbsent.contains(number) || kAbsentToo.contains(number)     ? kNone
                          : kNotified.contains(number) || kNotifiedToo.contains(number) ? kNotify
                                                                                        : kAllow;
      EXPECT_EQ(Action(number, {}, program), expected) << mode << " " << number;
    }
  }
}

TEST(SeccompLandlock, CountedProgramsAskAboutNewProcessesBesides) {
  const std::set<long> forks = {SYS_clone,
#if defined(__x86_64__)
                                SYS_fork, SYS_vfork
#endif
  };
  for (const auto& [mode, program] : kCounted) {
    EXPECT_LE(program.size(), size_t{BPF_MAXINSNS});
    for (long number = 0; number <= 600; ++number) {
      uint32_t expected = forks.contains(number) ? kNotify : Action(number, {}, kLandlock.at(mode));
      EXPECT_EQ(Action(number, {}, program), expected) << mode << " " << number;
    }
    EXPECT_EQ(Action(SYS_clone, {CLONE_NEWUSER}, program), kEperm);
  }
}

TEST(SeccompSelf, AsksNobodyAndRefusesTheSame) {
  const std::map<std::string, Program> self = {{"none", cordon::backend::kSeccompSelfNone},
                                               {"open", cordon::backend::kSeccompSelfOpen}};
  for (const auto& [mode, program] : self) {
    EXPECT_LE(program.size(), size_t{BPF_MAXINSNS});
    for (long number = 0; number <= 600; ++number) {
      EXPECT_NE(Action(number, {}, program), kNotify) << mode << " " << number;
      if (!kRefused.contains(number)) continue;
      EXPECT_EQ(Action(number, {}, program), kEperm) << number;
    }
    EXPECT_EQ(Action(SYS_openat, {0, 0, O_CREAT | O_RDWR, 0644}, program), kAllow);
    EXPECT_EQ(Action(SYS_fchmod, {3, 0755}, program), kAllow);
    EXPECT_EQ(Action(SYS_fchmod, {3, 04755}, program), kEperm);
    EXPECT_EQ(Action(SYS_clone, {CLONE_NEWUSER}, program), kEperm);
    EXPECT_EQ(Action(SYS_socket, {AF_INET, SOCK_STREAM, 0}, program),
              mode == "none" ? kFamily : kAllow);
    EXPECT_EQ(Action(SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, program), kAllow);
  }
}

TEST(SeccompLandlock, EveryOpeningIsNotifiedButForAPathOnly) {
  for (const auto& [mode, program] : kLandlock) {
    for (uint64_t high : {0ull, ~0ull << 32}) {
      for (uint64_t flags :
           {O_RDONLY, O_WRONLY | O_TRUNC, O_CREAT | O_RDWR, O_DIRECTORY, O_TMPFILE}) {
        EXPECT_EQ(Action(SYS_openat, {0, 0, flags | high, 04755}, program), kNotify) << flags;
      }
      EXPECT_EQ(Action(SYS_openat, {0, 0, O_PATH | O_CREAT | high, 0}, program), kAllow);
    }
  }
}

TEST(SeccompLandlock, ModesAreTheBrokersAndNeverSetId) {
  for (const auto& [mode, program] : kLandlock) {
    EXPECT_EQ(Action(SYS_fchmod, {3, 0755}, program), kNotify);
    EXPECT_EQ(Action(SYS_fchmodat, {3, 0, 0644}, program), kNotify);
    EXPECT_EQ(Action(452, {3, 0, 0644}, program), kNotify);
    EXPECT_EQ(Action(SYS_fchmod, {3, 04755}, program), kEperm);
    EXPECT_EQ(Action(SYS_fchmodat, {3, 0, 02755}, program), kEperm);
  }
}

TEST(SeccompLandlock, SocketsByMode) {
  for (const auto& [mode, program] : kLandlock) {
    auto socket = [&](uint64_t family, uint64_t type, uint64_t protocol) {
      return Action(SYS_socket, {family, type, protocol}, program);
    };
    bool streams = mode != "none", open = mode == "open";
    EXPECT_EQ(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), kAllow) << mode;
    EXPECT_EQ(socket(AF_UNIX, SOCK_SEQPACKET, 0), kAllow) << mode;
    EXPECT_EQ(socket(AF_UNIX, SOCK_DGRAM, 0), kFamily) << mode;
    EXPECT_EQ(socket(AF_UNIX, SOCK_RAW, 0), kFamily) << mode;
    for (uint64_t family : {AF_INET, AF_INET6}) {
      EXPECT_EQ(socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0), streams ? kAllow : kFamily) << mode;
      EXPECT_EQ(socket(family, SOCK_STREAM, IPPROTO_TCP), streams ? kAllow : kFamily) << mode;
      EXPECT_EQ(socket(family, SOCK_DGRAM, 0), open ? kAllow : kFamily) << mode;
      EXPECT_EQ(socket(family, SOCK_RAW, 0), kFamily) << mode;
      EXPECT_EQ(socket(family, SOCK_STREAM, 262 /* MPTCP */), streams ? kProtocol : kFamily);
    }
    EXPECT_EQ(socket(AF_NETLINK, SOCK_RAW, 0), open ? kAllow : kFamily) << mode;
    for (uint64_t family : {AF_VSOCK, AF_PACKET, AF_ALG, 0}) {
      EXPECT_EQ(socket(family, SOCK_STREAM, 0), kFamily) << mode << family;
    }
    EXPECT_EQ(Action(SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}, program), kAllow);
    EXPECT_EQ(Action(SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}, program), kFamily);
  }
}

TEST(SeccompLandlock, NothingGoesOutWithTheOpeningPacket) {
  constexpr uint64_t kFastOpen = MSG_FASTOPEN;
  for (const auto& [mode, program] : kLandlock) {
    uint32_t expected = mode == "open" ? kAllow : kEperm;
    for (uint64_t with : {uint64_t{0}, uint64_t{MSG_NOSIGNAL}, ~uint64_t{0} << 32}) {
      EXPECT_EQ(Action(SYS_sendto, {3, 0, 1, kFastOpen | with}, program), expected) << mode;
      EXPECT_EQ(Action(SYS_sendmsg, {3, 0, kFastOpen | with}, program), expected) << mode;
      EXPECT_EQ(Action(SYS_sendmmsg, {3, 0, 1, kFastOpen | with}, program), expected) << mode;
    }
    EXPECT_EQ(Action(SYS_sendto, {3, 0, 1, MSG_NOSIGNAL}, program), kAllow);
    EXPECT_EQ(Action(SYS_sendmsg, {3, 0, MSG_NOSIGNAL}, program), kAllow);
  }
}

TEST(SeccompLandlock, ReadersChangeNothing) {
  constexpr uint64_t kRefusedRequests[] = {0x40086602, 0x40046602, 0x40087602, 0x401c5820,
                                           0x40806685, 0x800c6613, 0x50009401, 0x5000940e,
                                           0x5000940f, 0x50009418, 0x5412};
  constexpr uint64_t kFine[] = {0x40049409, 0x4020940d, 0xc0189436, 0x5401, 0x80086601, 0x801c581f};
  for (const auto& [mode, program] : kLandlock) {
    for (uint64_t request : kRefusedRequests) {
      EXPECT_EQ(Action(SYS_ioctl, {3, request}, program), kEperm) << std::hex << request;
      EXPECT_EQ(Action(SYS_ioctl, {3, request | 1ull << 32}, program), kEperm) << request;
    }
    for (uint64_t request : kFine) {
      EXPECT_EQ(Action(SYS_ioctl, {3, request}, program), kAllow) << std::hex << request;
    }
  }
}

TEST(SeccompLandlock, WhomADescriptorSignalsIsAskedAbout) {
  for (const auto& [mode, program] : kLandlock) {
    for (uint64_t high : {0ull, 1ull << 32}) {
      EXPECT_EQ(Action(SYS_fcntl, {3, F_SETOWN | high, 77}, program), kNotify);
      EXPECT_EQ(Action(SYS_fcntl, {3, 15 | high, 77}, program), kEperm);  // F_SETOWN_EX
      EXPECT_EQ(Action(SYS_ioctl, {3, 0x8901 | high}, program), kEperm);
      EXPECT_EQ(Action(SYS_ioctl, {3, 0x8902 | high}, program), kEperm);
    }
    EXPECT_EQ(Action(SYS_fcntl, {3, F_SETFL, O_ASYNC}, program), kAllow);
    EXPECT_EQ(Action(SYS_fcntl, {3, F_DUPFD_CLOEXEC, 10}, program), kAllow);
    EXPECT_EQ(Action(SYS_ioctl, {3, 0x8903}, program), kAllow);  // FIOGETOWN
  }
}

TEST(SeccompLandlock, PrioritiesOfOthersAreAskedAbout) {
  for (const auto& [mode, program] : kLandlock) {
    for (long number : {SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam}) {
      EXPECT_EQ(Action(number, {0}, program), kAllow);
      EXPECT_EQ(Action(number, {77}, program), kNotify);
    }
    EXPECT_EQ(Action(SYS_setpriority, {PRIO_PROCESS, 0, 5}, program), kAllow);
    EXPECT_EQ(Action(SYS_setpriority, {PRIO_PROCESS, 77, 5}, program), kNotify);
    EXPECT_EQ(Action(SYS_setpriority, {PRIO_USER, 0, 5}, program), kEperm);
    EXPECT_EQ(Action(SYS_ioprio_set, {1, 0, 5}, program), kAllow);
    EXPECT_EQ(Action(SYS_ioprio_set, {3, 0, 5}, program), kEperm);
  }
}

TEST(Seccomp, TheProgramsFitTheKernel) {
  for (const auto& [mode, program] : kLandlock) EXPECT_LE(program.size(), size_t{BPF_MAXINSNS});
  EXPECT_LE(std::size(cordon::backend::kSeccompProgram), size_t{BPF_MAXINSNS});
  EXPECT_LE(std::size(cordon::backend::kSeccompProgramNesting), size_t{BPF_MAXINSNS});
}

uint32_t Companion(long number, Args args = {}, uint32_t arch = kArch) {
  return Action(number, args, cordon::tls::kCompanionProgram, arch);
}

TEST(CompanionFilter, HasWhatDescriptorsNeedAndNoMore) {
  const std::set<long> allowed = {
      SYS_read,       SYS_write,      SYS_recvfrom,    SYS_recvmsg,         SYS_shutdown,
      SYS_close,      SYS_epoll_ctl,  SYS_epoll_pwait, SYS_futex,           SYS_munmap,
      SYS_mremap,     SYS_madvise,    SYS_brk,         SYS_clock_gettime,   SYS_gettimeofday,
      SYS_getrandom,  SYS_getpid,     SYS_gettid,      SYS_rt_sigprocmask,  SYS_rt_sigreturn,
      SYS_exit,       SYS_exit_group, SYS_sched_yield, SYS_restart_syscall,
#if defined(__x86_64__)
      SYS_epoll_wait, SYS_time,
#endif
      SYS_sendto,     SYS_mmap,       SYS_mprotect};  // by their arguments, below
  for (long number = 0; number < 2000; ++number) {
    EXPECT_EQ(Companion(number), allowed.contains(number) ? kAllow : kEperm) << number;
  }
}

TEST(CompanionFilter, LooksAtArguments) {
  EXPECT_EQ(Companion(SYS_sendto, {5, 1, 1, 0, 0x1000, 16}), kEperm);
  EXPECT_EQ(Companion(SYS_sendto, {5, 1, 1, 0, 1ull << 32, 16}), kEperm);
  for (long number : {SYS_mmap, SYS_mprotect}) {
    EXPECT_EQ(Companion(number, {0, 4096, PROT_READ | PROT_WRITE}), kAllow);
    EXPECT_EQ(Companion(number, {0, 4096, PROT_READ | PROT_EXEC}), kEperm);
  }
  EXPECT_EQ(Companion(SYS_fcntl, {5, F_GETFL}), kAllow);
  EXPECT_EQ(Companion(SYS_fcntl, {5, F_SETFL}), kAllow);
  EXPECT_EQ(Companion(SYS_fcntl, {5, F_SETOWN}), kEperm);
  EXPECT_EQ(Companion(SYS_read, {}, AUDIT_ARCH_I386), SECCOMP_RET_KILL_PROCESS);
}

}  // namespace
