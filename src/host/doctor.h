// What `cordon doctor` tells: which mechanisms this host has, by trying each as
// a run would use it, and what they can enforce together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/outcome.h"

namespace cordon::host {

enum class Need {
  kHelpful,   // a run is no weaker without it
  kRequired,  // a run refuses, or enforces something only in part
};

struct Finding {
  std::string feature;  // "user namespaces"
  bool available = false;
  Need need = Need::kRequired;
  std::string detail;
  std::string remedy;  // one sentence; empty when there is nothing to do
  bool operator==(const Finding&) const = default;
};

// Everything, in the order to be read. Takes some tens of milliseconds.
std::vector<Finding> Examine();

// Whether an unprivileged user namespace with all that a run does in it can be
// made here; if not, why not and what helps.
Finding ExamineUserNamespaces();

// Pure: what those findings let a run enforce, one per feature of `require`.
// Limits are as a policy that sets them would get them.
std::vector<Enforcement> Enforceable(const std::vector<Finding>& findings);

// Pure: whether the default preset is enforced in full. It sets no limits, so
// those do not count.
bool DefaultIsFull(const std::vector<Enforcement>& features);

}  // namespace cordon::host
