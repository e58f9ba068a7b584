// Which rules of a file system plan speak of a path.
#pragma once

#include <string_view>
#include <vector>

#include "plan/fs_plan.h"

namespace cordon::plan {

// After precedence: `read` is null when the path may not be read, `write` when
// no writable root holds it or it may not be read. `denied_write` still stands
// beside `write`.
struct RuleMatch {
  const FsRule* read = nullptr;
  const FsRule* write = nullptr;
  const FsRule* allowed_within = nullptr;
  const FsRule* denied_read = nullptr;
  const FsRule* denied_write = nullptr;
};

RuleMatch MatchRules(const std::vector<FsRule>& rules, std::string_view path);

// The deepest region that holds `path`.
const Region* RegionOf(const std::vector<Region>& regions, std::string_view path);

}  // namespace cordon::plan
