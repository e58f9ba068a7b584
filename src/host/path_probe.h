// What the planner may ask of the file system, so that a plan can be made and
// tested without one.
#pragma once

#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

#include "cordon/result.h"

namespace cordon::host {

enum class FileType {
  kMissing,
  kUnreachable,  // a directory on the way may not be searched, or a link loops
  kDirectory,
  kRegular,
  kSocket,
  kOther,
};

struct PathInfo {
  FileType type = FileType::kMissing;
  std::string canonical;  // no symbolic link in it
  uint64_t device = 0;    // major << 32 | minor
  uint64_t inode = 0;
  uint32_t owner = 0;
  uint32_t mode = 0;
  bool closed = false;  // another's, and its mode lets us neither read nor search it

  bool exists() const { return type != FileType::kMissing && type != FileType::kUnreachable; }
  bool directory() const { return type == FileType::kDirectory; }
  bool operator==(const PathInfo&) const = default;
};

struct DirectoryEntry {
  std::string name;
  bool directory = false;  // a real one, not a link to one
  bool operator==(const DirectoryEntry&) const = default;
};

// The way to a path that need not exist.
struct Trail {
  std::vector<std::pair<std::string, std::string>> links;  // symbolic links met, with their targets
  std::string end;  // where it leads; components that do not exist are taken as written
  bool operator==(const Trail&) const = default;
};

class PathProbe {
 public:
  virtual ~PathProbe() = default;
  // Follows symbolic links.
  virtual PathInfo Inspect(const std::string& path) const = 0;
  // Walks `below` from the canonical directory `base`, following links.
  virtual Trail Follow(const std::string& base, const std::string& below) const = 0;
  virtual Result<std::vector<DirectoryEntry>> List(const std::string& directory) const = 0;
  // The first 64 KiB of a regular file.
  virtual Result<std::string> ReadStart(const std::string& path) const = 0;
};

}  // namespace cordon::host
