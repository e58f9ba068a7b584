// Policy files that change while they are in force.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/policy_flags.h"
#include "guard/net_rules.h"

namespace cordon::cli {

// Tells when one of the files is not what it was. One that cannot be looked at any
// more counts as unchanged.
class FileWatch {
 public:
  explicit FileWatch(std::vector<std::string> files);
  bool Changed();

 private:
  std::vector<std::string> files_;
  std::vector<std::string> stamps_;
};

// For a run by `first`: each call reads the files again if they have changed, and
// returns what the network rules are then, or nothing. Says on stderr what it did;
// what cannot be used leaves the last good rules in force. Empty if the run has no
// rules that could change.
std::function<std::optional<guard::NetRules>()> WatchNetRules(const PolicyFlags& flags,
                                                              const LoadedPolicy& first);

}  // namespace cordon::cli
