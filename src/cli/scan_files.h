// The files that `cordon scan` looks into.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cordon/result.h"
#include "guard/secrets/scanner.h"

namespace cordon::cli {

struct ScanTarget {
  std::string path;
  // A file that was named is read in any case; one found in a folder only if it is text.
  enum class Origin { kNamed, kFound } origin = Origin::kNamed;
};

enum class IgnoreFiles { kHonour, kPassOver };

// Each of `names` that is a file, and the files below each that is a folder: no symbolic
// links, nothing of .git, nothing that a .gitignore excludes. `failed` hears of what could
// not be read.
std::vector<ScanTarget> FindScanTargets(const std::vector<std::string>& names, IgnoreFiles ignore,
                                        const std::function<void(const Error&)>& failed);

struct FileScan {
  std::string path;
  enum class State { kScanned, kBinary, kFailed } state = State::kScanned;
  Error error;  // when it failed
  uint64_t bytes = 0;
  std::vector<guard::SecretFinding> findings;
};

// In the order of the targets, on as many threads as there are processors. `progress`
// hears now and then, on the calling thread, how many are done.
std::vector<FileScan> ScanFiles(const guard::SecretRules& rules,
                                const std::vector<ScanTarget>& targets,
                                guard::SecretScanOptions::InlineAllow inline_allow,
                                const std::function<void(size_t done)>& progress);

// Reads `fd` to its end.
Result<uint64_t> ReadChunks(int fd, const std::function<bool(std::string_view)>& take);

}  // namespace cordon::cli
