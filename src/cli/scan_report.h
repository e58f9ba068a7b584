// What `cordon scan` says about what it found, and the baseline of what was there before.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scan_files.h"
#include "cordon/result.h"

namespace cordon::cli {

struct ScanSummary {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t binary = 0;
  uint64_t failed = 0;
  uint64_t findings = 0;
  uint64_t known_before = 0;  // by the baseline
};

// "PATH:LINE:COLUMN: RULE: DESCRIPTION (PREVIEW)", one a line.
std::string ScanText(const std::vector<FileScan>& scans);
std::string ScanJson(const std::vector<FileScan>& scans, const ScanSummary& summary);
// SARIF 2.1.0, which code hosts show at the line.
std::string ScanSarif(const std::vector<FileScan>& scans);

// Findings that are known and accepted. It tells rule, file and fingerprint, so that it
// still fits when lines move, and never a secret.
class Baseline {
 public:
  static Result<Baseline> Parse(std::string_view text, const std::string& name);
  bool Holds(std::string_view path, const guard::SecretFinding& finding) const;

 private:
  std::set<std::string> entries_;
};

std::string BaselineJson(const std::vector<FileScan>& scans);

}  // namespace cordon::cli
