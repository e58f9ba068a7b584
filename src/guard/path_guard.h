// May a tool read or write this path? Links are resolved first (sys), and every
// path on the way must be allowed, so that neither a link nor ".." nor a name
// below /proc leads past a rule. What cannot be told is denied.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon::guard {

enum class PathUse { kRead, kWrite };
// Whether names are compared as they are, or ASCII letters in either case. A file
// system that ignores case is always asked in its own way.
enum class NameCase { kExact, kIgnore };

struct PathRules {
  std::string root;         // must stay inside it, and relative paths are below it; empty: anywhere
  std::string data_dir;     // an agent's own state: its data/ and config.toml are out of reach
  std::string config_path;  // its configuration, where that lies elsewhere
  std::vector<std::string> identity_files;  // names that may not be written, wherever they lie
  NameCase names = NameCase::kExact;
  bool operator==(const PathRules&) const = default;
};

struct PathDecision {
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied
  std::string rule;                   // "system directory /etc", "inside /w"
  std::string path;                   // where it leads; empty if that cannot be told
  bool hard_linked = false;  // the file has other names too: writing in place changes those
};

// Inside the root (if there is one), and neither blocked (below) nor an identity file.
PathDecision CheckPath(const PathRules& rules, std::string_view path, PathUse use);

// The blocklist alone: true for data_dir's data/ and config.toml and for
// config_path, existing or not, by whatever name, and for what IsFullyDenied
// names; for writes also for system directories. Relative paths, and those
// that cannot be resolved, are blocked.
bool IsReadBlocked(std::string_view path, std::string_view data_dir,
                   std::string_view config_path = {});
bool IsWriteBlocked(std::string_view path, std::string_view data_dir,
                    std::string_view config_path = {});

// Whether `text` is too much to name as a target for deleting and the like: "/",
// the home directory, a directory right below "/", "*" and "…/*".
bool IsDangerousSystemPath(std::string_view text, std::string_view home);

// Cordon's own state, read or write, in this home or any other: by its
// components, so that no spelling of the home gets past it. By the text alone.
bool IsFullyDenied(std::string_view path, NameCase names = NameCase::kExact);

// SOUL.md, IDENTITY.md, USER.md, in any case; or the names given instead.
const std::vector<std::string>& DefaultIdentityFiles();
bool IsIdentityFile(std::string_view path,
                    const std::vector<std::string>& names = DefaultIdentityFiles());

// As IsInside of path.h, with the case of ASCII letters ignored where asked.
bool IsInside(std::string_view path, std::string_view root, NameCase names);

}  // namespace cordon::guard
