// Runs in: supervisor (built here), child (read there).
//
// ChildSpec is everything that happens between clone and exec, frozen before
// the clone: a flat list of steps over descriptors and strings. spawn/child.cc
// runs it with raw system calls and nothing else; a step that fails ends the
// child, and its index tells the supervisor which one it was.
//
// A spec is a value: tests compare it, `cordon plan` prints it.
#pragma once

#include <linux/filter.h>
#include <stdint.h>

#include <string>
#include <vector>

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
  kForbidUserNamespaces,
  kDropCapabilities,  // all sets, no_new_privs; value: kBoundingSetMayStay
  kLandlock,          // the ruleset of the spec
  kSeccomp,           // the program of the spec; its listener goes to the supervisor
  kExecInit,
};

// Device and inode of what the plan looked at; the child refuses another one.
struct Identity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const Identity&) const = default;
};

struct Step {
  Op op;
  int slot = -1;
  int from = -1;
  std::string path;
  std::string data;
  uint64_t value = 0;
  uint64_t value2 = 0;
  Identity identity;  // zero: not checked
  bool operator==(const Step&) const = default;
};

struct LandlockRule {
  std::string path;
  uint64_t access = 0;
  bool optional = false;  // what is gone by then is not granted
  bool operator==(const LandlockRule&) const = default;
};

struct LandlockRules {
  uint64_t handled_fs = 0;
  uint64_t handled_net = 0;
  uint64_t scoped = 0;
  std::vector<LandlockRule> rules;
  bool operator==(const LandlockRules&) const = default;
};

struct SeccompProgram {
  const sock_filter* instructions = nullptr;
  uint16_t size = 0;
  bool operator==(const SeccompProgram&) const = default;
};

inline constexpr int kMaxSlots = 512;

inline constexpr uint64_t kBoundingSetMayStay = 1;

inline constexpr uint64_t kListenDatagram = 1;
inline constexpr uint64_t kListenV6 = 2;
inline constexpr uint64_t kListenEverywhere = 4;  // else on loopback

struct ChildSpec {
  uint64_t namespaces = 0;  // CLONE_NEW* flags
  std::vector<Step> steps;
  LandlockRules landlock;
  SeccompProgram seccomp;
  std::string init_options;              // init_protocol.h
  std::vector<std::string> argv;         // the command's
  std::string program;                   // what to execute: argv[0], or a path
  std::vector<std::string> environment;  // "NAME=value"
  bool operator==(const ChildSpec&) const = default;
};

// "attach /w/.git/hooks": what a person reads of a step.
std::string Describe(const Step& step);
// Of the step at `index`; past the last it is what comes before all steps.
std::string DescribeStep(const ChildSpec& spec, uint64_t index);

}  // namespace cordon::backend
