// Runs in: supervisor (built here), child and stage (read there).
//
// The steps of a child, as plain data: one list for the clone, which shares the
// supervisor's memory, and for the stage inside of bubblewrap, which is init's program
// and has no libc. FlatSpec points into a ChildSpec, or into what spawn/stage_image has packed.
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

namespace cordon::backend {

enum class Op : uint8_t {
  kWriteFile,    // path, data
  kJoinSession,  // own session and session keyring
  kOpenTree,     // slot ← recursive clone of path, if it is still `identity`
  kCloneSlot,    // slot ← clone of path below slot `from` (non-recursive)
  kTmpfs,        // slot ← new tmpfs; data: size, path: number of inodes, value: 1 if closed
  kProc,         // slot ← new procfs
  kSysfs,        // slot ← new sysfs, or the one at path where none can be had
  kDevpts,       // slot ← new devpts instance
  kAttributes,   // slot: set `value`, clear `value2` mount attributes, recursively
  kMakeDir,      // path below slot, mode value
  kMakeFile,     // file at path below slot, mode value, data: what is in it
  kMakeLink,     // symbolic link at path below slot, data: its target
  kSealRoot,     // the whole tree private, and read-only, nosuid (value: attributes)
  kEnterRoot,    // slot becomes the root, the old one goes
  kAttach,       // slot onto path (no symlink anywhere in it), if it is still `identity`
  kStash,        // as kAttach, but the slot stays open to be cloned from
  kTerminal,     // a pseudo-terminal from path for the streams in value; its master goes to the
                 // supervisor
  kLoopback,     // lo up
  kNetlink,      // route netlink messages in data, `value` of them
  kListen,       // value: port, value2: kListen*; the socket goes to the supervisor
  kLimit,        // value: resource, value2: soft = hard
  kUmask,        // value
  kChdir,        // path
  kCheckMount,   // path is a mount of its own, and `identity`; value: kMount* that hold there
  kForbidUserNamespaces,
  kDropCapabilities,  // all sets, no_new_privs; value: kBoundingSetMayStay
  kLandlock,          // the ruleset of the spec
  kSeccomp,           // the program of the spec; its listener goes to the supervisor
  kFilter,            // the program of the spec, without a listener
  kExecInit,
  kExecBubblewrap,  // it runs the rest
};

// Device and inode of what the plan looked at; the child refuses another one.
struct Identity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const Identity&) const = default;
};

inline constexpr int kMaxSlots = 512;

inline constexpr uint64_t kBoundingSetMayStay = 1;

inline constexpr uint64_t kListenDatagram = 1;
inline constexpr uint64_t kListenV6 = 2;
inline constexpr uint64_t kListenEverywhere = 4;  // else on loopback

inline constexpr uint64_t kMountReadOnly = 1;
inline constexpr uint64_t kMountClosed = 2;  // nobody may read or list it

struct FlatStep {
  Op op;
  int slot;
  int from;
  const char* path;
  const char* data;
  uint64_t size;  // of data
  uint64_t value;
  uint64_t value2;
  Identity identity;
};

struct FlatRule {
  const char* path;
  uint64_t access;
  uint64_t optional;
};

struct FlatSpec {
  const FlatStep* steps;
  uint64_t step_count;
  const FlatRule* rules;
  uint64_t rule_count;
  uint64_t handled_fs, handled_net, scoped;  // of Landlock
  const sock_filter* filter;
  uint64_t filter_size;
  const char* const* init_argv;
  const char* const* environment;
};

}  // namespace cordon::backend
