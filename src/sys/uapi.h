// Kernel constants and structures that Debian 12's headers lack (its
// landlock.h stops at ABI 2), and those that glibc's headers would clash with.
// Values are the kernel's; each says since when.
#pragma once

#include <stdint.h>

namespace cordon::uapi {

// ---- Landlock -------------------------------------------------------------
inline constexpr uint32_t kLandlockCreateRulesetVersion = 1u << 0;
inline constexpr int kLandlockRulePathBeneath = 1;

inline constexpr uint64_t kFsExecute = 1ull << 0;
inline constexpr uint64_t kFsWriteFile = 1ull << 1;
inline constexpr uint64_t kFsReadFile = 1ull << 2;
inline constexpr uint64_t kFsReadDir = 1ull << 3;
inline constexpr uint64_t kFsRemoveDir = 1ull << 4;
inline constexpr uint64_t kFsRemoveFile = 1ull << 5;
inline constexpr uint64_t kFsMakeChar = 1ull << 6;
inline constexpr uint64_t kFsMakeDir = 1ull << 7;
inline constexpr uint64_t kFsMakeReg = 1ull << 8;
inline constexpr uint64_t kFsMakeSock = 1ull << 9;
inline constexpr uint64_t kFsMakeFifo = 1ull << 10;
inline constexpr uint64_t kFsMakeBlock = 1ull << 11;
inline constexpr uint64_t kFsMakeSym = 1ull << 12;
inline constexpr uint64_t kFsRefer = 1ull << 13;     // ABI 2, Linux 5.19
inline constexpr uint64_t kFsTruncate = 1ull << 14;  // ABI 3, Linux 6.2
inline constexpr uint64_t kFsIoctlDev = 1ull << 15;  // ABI 5, Linux 6.10

inline constexpr uint64_t kNetBindTcp = 1ull << 0;     // ABI 4, Linux 6.7
inline constexpr uint64_t kNetConnectTcp = 1ull << 1;  // ABI 4

inline constexpr uint64_t kScopeAbstractUnixSocket = 1ull << 0;  // ABI 6, Linux 6.12
inline constexpr uint64_t kScopeSignal = 1ull << 1;              // ABI 6

struct LandlockRulesetAttr {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;  // ABI 4
  uint64_t scoped;              // ABI 6
};

struct __attribute__((packed)) LandlockPathBeneathAttr {
  uint64_t allowed_access;
  int32_t parent_fd;
};

// ---- mounts (clash between <linux/mount.h> and <sys/mount.h> in glibc 2.36)
inline constexpr unsigned kOpenTreeClone = 1;
inline constexpr unsigned kOpenTreeCloexec = 02000000;
inline constexpr unsigned kMoveMountFEmptyPath = 0x00000004;
inline constexpr unsigned kMoveMountTEmptyPath = 0x00000040;
inline constexpr unsigned kFsopenCloexec = 1;
inline constexpr unsigned kFsmountCloexec = 1;
inline constexpr unsigned kFsconfigSetString = 1;
inline constexpr unsigned kFsconfigCmdCreate = 6;
inline constexpr uint64_t kMountAttrRdonly = 0x00000001;
inline constexpr uint64_t kMountAttrNosuid = 0x00000002;
inline constexpr uint64_t kMountAttrNodev = 0x00000004;
inline constexpr uint64_t kMountAttrNoexec = 0x00000008;
inline constexpr uint64_t kMountAttrIdmap = 0x00100000;  // Linux 5.12
inline constexpr uint64_t kMsPrivate = 1u << 18;
inline constexpr int kMntDetach = 2;

struct MountAttr {
  uint64_t attr_set;
  uint64_t attr_clr;
  uint64_t propagation;
  uint64_t userns_fd;
};

struct OpenHow {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};
inline constexpr uint64_t kResolveNoXdev = 0x01;
inline constexpr uint64_t kResolveNoMagiclinks = 0x02;
inline constexpr uint64_t kResolveNoSymlinks = 0x04;
inline constexpr uint64_t kResolveBeneath = 0x08;
inline constexpr uint64_t kResolveInRoot = 0x10;

// ---- processes ------------------------------------------------------------
inline constexpr uint64_t kCloneNewtime = 0x00000080;
inline constexpr uint64_t kCloneNewcgroup = 0x02000000;
inline constexpr uint64_t kCloneClearSighand = 0x100000000ull;  // Linux 5.5
inline constexpr uint64_t kCloneIntoCgroup = 0x200000000ull;    // Linux 5.7
inline constexpr unsigned kPidfdThread = 0200;                  // O_EXCL, Linux 6.9
inline constexpr unsigned kCloseRangeUnshare = 1u << 1;         // Linux 5.9
inline constexpr unsigned kMfdExec = 0x0010u;                   // Linux 6.3

// ---- seccomp notifications ------------------------------------------------
inline constexpr unsigned long kSeccompFilterFlagNewListener = 1ul << 3;
inline constexpr unsigned long kSeccompFilterFlagWaitKillableRecv = 1ul << 5;  // Linux 5.19
inline constexpr uint64_t kSeccompUserNotifFdSyncWakeUp = 1ul << 0;            // Linux 6.6

// ---- file systems, as statfs tells them -----------------------------------
inline constexpr long kProcSuperMagic = 0x9fa0;
inline constexpr long kSysfsMagic = 0x62656572;
inline constexpr long kTmpfsMagic = 0x01021994;

}  // namespace cordon::uapi
