// One pattern of net.allow or net.deny.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cordon/result.h"
#include "guard/host_name.h"

namespace cordon::guard {

// "x", "*.x" (subdomains at any depth, never x), "**.x" (x too), an address;
// each with or without ":port".
struct HostPattern {
  enum class Kind { kExact, kSubdomains, kApexAndSubdomains, kAddress };
  Kind kind = Kind::kExact;
  std::string name;  // without the wildcard
  std::optional<IpAddress> address;
  std::optional<int> port;  // none: 80 and 443 when allowing, every port when denying
  std::string text;         // as written
  std::string origin;       // "policy.toml:7"
  bool operator==(const HostPattern&) const = default;
};

// What the pattern is for: an allow may not be as wide as "*.com" or another
// public suffix (ICANN's part of the list; a top level that is not listed is
// one), a deny may. Neither may be "*".
enum class PatternUse { kAllow, kDeny };

// Refuses what ParseHost refuses, and what is too wide. The error is
// kPolicyBadValue.
Result<HostPattern> ParseHostPattern(std::string_view text, PatternUse use = PatternUse::kAllow);
// The canonical text, which reads back as the same pattern: "*.x:8443".
std::string ToString(const HostPattern& pattern);

bool MatchesName(const HostPattern& pattern, const Host& host);  // whatever the port

// Whether every host that `narrow` matches is matched by `wide`, and whether
// some host is matched by both; whatever the port.
bool CoversName(const HostPattern& wide, const HostPattern& narrow);
bool NamesOverlap(const HostPattern& a, const HostPattern& b);

// As patterns of allow: the one that matches just what both match on the ports
// that both have, if there is any.
std::optional<HostPattern> Intersect(const HostPattern& a, const HostPattern& b);

}  // namespace cordon::guard
