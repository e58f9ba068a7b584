// What the file system will look like inside, decided in full before anything
// is done: the rules with every path resolved, the regions (one mount each)
// that follow from them, and the names that may not come into being, which the
// broker checks.
#pragma once

#include <stdint.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/policy.h"
#include "host/path_probe.h"

namespace cordon::plan {

// Precedence: floor > deny > allow. Only between deny_read and
// allow_read_within_deny does the narrower path win.
enum class RuleKind { kRead, kWrite, kAllowWithin, kDenyRead, kDenyWrite, kDenyNew, kFloor };

std::string_view RuleKindName(RuleKind kind);  // "fs.deny_read", "floor"

struct FsRule {
  RuleKind kind = RuleKind::kRead;
  std::string path;  // canonical, exists
  bool directory = true;
  uint64_t device = 0;
  uint64_t inode = 0;
  bool closed = false;     // the host itself lets nobody of this user in
  bool from_glob = false;  // a match of a pattern; at equal depth a literal exception wins
  Origin origin;
  bool operator==(const FsRule& o) const {
    return kind == o.kind && path == o.path && directory == o.directory && device == o.device &&
           inode == o.inode;
  }
};

// A name that may not be created, replaced or linked, whether it exists or not.
struct ProtectedName {
  std::string path;  // canonical parent; a pattern when `glob`
  bool glob = false;
  bool any_case = true;  // file systems and tools may take .GIT for .git
  // kFloor; kDenyWrite for deny_new and deny_write; kDenyRead for deny_read.
  RuleKind kind = RuleKind::kFloor;
  Origin origin;
  bool operator==(const ProtectedName& o) const {
    return path == o.path && glob == o.glob && kind == o.kind;
  }
};

enum class RegionSource {
  kHost,     // the host's own tree at that path
  kPrivate,  // a directory of the sandbox's own tmpfs
  kMask,     // nothing: not readable, not listable
};

enum class Rights { kReadOnly, kReadWrite };

// The sandbox's tree is a set of nested regions; the deepest one that holds a
// path decides. Each is one mount. Sorted by depth.
struct Region {
  std::string path;
  RegionSource source = RegionSource::kHost;
  Rights rights = Rights::kReadOnly;
  bool directory = true;
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const Region&) const = default;
};

struct FsPlan {
  std::string workspace;
  std::vector<FsRule> rules;
  std::vector<ProtectedName> names;
  std::vector<Region> regions;
  std::vector<std::string> absent;  // of deny_read, not there yet: masked when they appear
  std::vector<std::pair<std::string, std::string>> links;  // symlinks to set up in private regions
  TempMode temp = TempMode::kNone;
  uint64_t temp_size = 0;  // of the one tmpfs behind /tmp, /var/tmp and /dev/shm
  GitMode git = GitMode::kProtect;
  bool operator==(const FsPlan&) const = default;
};

// kChange is writing to a file that exists: for it, what may not come into being
// does not matter.
enum class Access { kRead, kWrite, kChange };

struct Verdict {
  bool allowed = false;
  std::string rule;    // "fs.write policy.toml:7"
  std::string detail;  // what decided, in words
  std::string hint;    // what would allow it
  std::string source;  // where the rule stands: a file, "preset strict", "built in"; empty: nowhere
  int line = 0;        // in it; 0: none
  bool operator==(const Verdict&) const = default;
};

// May a command inside do this to `path` (canonical; need not exist)? The same
// decision that the regions are made from, so that it and the kernel agree.
Verdict Decide(const FsPlan& plan, Access access, std::string_view path);

// The protected name, if any, that creating `path` would violate: the name
// itself, or one below it that would come into being with it when
// `kind_of_creation` brings content along (rename, symbolic link).
enum class Creation { kEmpty, kWithContent };
const ProtectedName* ViolatedName(const std::vector<ProtectedName>& names, std::string_view path,
                                  Creation creation);

struct FsInputs {
  const FsPolicy& policy;
  const host::PathProbe& probe;
  std::string workspace;  // absolute, exists
  std::string home;
  std::string state;          // Cordon's own state directory; empty: below the home
  uint64_t memory_limit = 0;  // 0: none; bounds the default of temp_size
  enum class Floor { kOn, kOff } floor = Floor::kOn;
};

Result<FsPlan> PlanFs(const FsInputs& inputs);

}  // namespace cordon::plan
