// The network part of a policy, resolved.
#pragma once

#include "cordon/policy.h"
#include "cordon/result.h"
#include "guard/net_rules.h"
#include "plan/fs_plan.h"

namespace cordon::plan {

// The rules that the proxy decides by: lists expanded, patterns parsed, each
// with where it stands: "policy.toml:7", "@npm, preset workspace:210". The
// host's own addresses are left to the caller. A text that is no pattern is an
// error with its place.
Result<guard::NetRules> ResolveNetRules(const Policy& policy);

// May a command inside connect there, and by which rule? Before resolution: an
// allowed name may still resolve to an address that is denied.
Result<Verdict> ExplainConnect(const Policy& policy, const guard::HostPort& target);

}  // namespace cordon::plan
