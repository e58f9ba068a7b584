// Runs in: supervisor, and when building. System calls that no command inside has, by name: for the
// seccomp programs (tools/gen_seccomp.cc) and for engines that take names.
#pragma once

#include <array>

namespace cordon::backend {

inline constexpr std::array kDeniedCalls = {
    "mount",
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
    "memfd_secret",
};

// As if the kernel did not have them.
inline constexpr std::array kMissingCalls = {"io_uring_setup", "io_uring_enter",
                                             "io_uring_register", "clone3"};

}  // namespace cordon::backend
