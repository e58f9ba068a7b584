// Where a path leads, links and all, also when its last components do not exist
// yet. For decisions before an act; the act itself should be by descriptor
// (beneath.h), for the tree may change in between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon::sys {

struct ResolvedPath {
  std::string path;      // absolute, no link, no ".", no ".."
  std::string ancestor;  // the deepest part of `path` that exists; `path` itself if all does
  // All paths to check: the path as it was given, as it stood after each link, and `path`.
  std::vector<std::string> hops;
  bool by_process = false;    // went by a link of /proc/PID: another process may land elsewhere
  bool ignores_case = false;  // the file system of `ancestor` takes "A" for "a"
  uint64_t links = 0;         // names of the regular file at `path`; 0 if there is none
  bool operator==(const ResolvedPath&) const = default;
};

// `path` is absolute. ".." goes up from where a link has led, as the kernel's
// does; above what does not exist, by the text. A dangling link leads to where
// its target would be. kPathInvalid: a relative or empty path, a NUL byte, a
// name or path that is too long, more than 40 links or a circle of them.
// kSystemCall if the way cannot be looked at.
Result<ResolvedPath> ResolvePath(std::string_view path);

// The first link on the way, itself a path; stops where nothing exists.
Result<std::optional<std::string>> FindSymlink(std::string_view path);

// What tells a file from all others.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
// Links are followed; nothing if there is no such file or it cannot be looked at.
std::optional<FileIdentity> IdentityOf(const std::string& path);

// Whether a file below `directory`, or it itself, is this very file under another name
// (a hard link). A tree too large to look through counts as holding it.
bool HoldsFile(const std::string& directory, const FileIdentity& file);

}  // namespace cordon::sys
