// Where the audit log lies. The command must not reach it: a log that those it
// speaks of can change says nothing.
#pragma once

#include <string>

#include "cordon/policy.h"
#include "host/path_probe.h"

namespace cordon::plan {

struct AuditLogInputs {
  const Policy& policy;
  const host::PathProbe& probe;
  std::string home;   // canonical
  std::string state;  // Cordon's own state directory; empty: below the home
};

// `audit.log` with the links on its way followed; it need not exist. One inside a
// writable root of the policy is an error, unless it is in Cordon's own state, which
// the floor keeps out of reach.
Result<std::string> AuditLogPlace(const AuditLogInputs& in);

bool IsOwnState(const AuditLogInputs& in, const std::string& place);

// That error: names the file, line and key that ask for it.
Error AuditLogInReach(const Policy& policy, const std::string& place);

}  // namespace cordon::plan
