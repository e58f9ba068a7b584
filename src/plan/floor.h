// The floor: paths of a writable tree that stay read-only whatever is granted,
// because the host runs or trusts what is in them.
#pragma once

#include <string>
#include <vector>

#include "cordon/policy.h"
#include "host/path_probe.h"
#include "plan/fs_plan.h"

namespace cordon::plan {

// What one walk of the writable roots found.
struct Scan {
  std::vector<std::string> repositories;  // directories that hold a .git
  std::vector<std::string> glob_matches;  // existing paths that match one of the patterns
};

// Walks `roots` to `depth` levels for repositories, and as deep as the tree
// goes where `patterns` ask for it. More entries than the budget is an error:
// a half-scanned tree would be half protected.
Result<Scan> ScanTrees(const host::PathProbe& probe, const std::vector<std::string>& roots,
                       const std::vector<std::string>& patterns, int depth);

// A directory of a writable tree that hides what is in it.
Error Unscannable(const std::string& path);

// Absolute floor paths for the top of one writable root or repository, whether
// they exist or not: the trusted names, git's own files, and what the
// repository's configuration makes git run or read. They may be links, and may
// lie outside the writable roots: that is the caller's to sort out. A repository that
// cannot be looked into is refused.
Result<std::vector<std::string>> FloorPaths(const host::PathProbe& probe, const std::string& top,
                                            GitMode git);

// The directories outside `root` that a linked worktree or submodule at `root`
// keeps its history in, if they point back at it. Empty otherwise.
std::vector<std::string> LinkedGitDirectories(const host::PathProbe& probe,
                                              const std::string& root);

}  // namespace cordon::plan
