// The texts of net.allow as sets of hosts and ports: what composing needs. A
// text that is no pattern (from a Policy that was not read from a file) meets
// only itself; it is refused when the rules are resolved.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"

namespace cordon::policy {

// The patterns that together match what both match: "*.x.com" and
// "a.x.com:443" give "a.x.com:443". No port means 80 and 443. A "@list" that
// meets itself stays whole. In canonical spelling.
std::vector<std::string> IntersectHosts(std::string_view a, std::string_view b);

// Whether some name matches both, whatever the port.
bool HostsOverlap(std::string_view a, std::string_view b);

// Both lists, pair by pair.
Entries IntersectHosts(const Entries& a, const Entries& b);

// Without what another text of the list implies, in canonical spelling, sorted.
Entries CanonicalHosts(const Entries& hosts);

// What of `hosts` mode "public" takes by itself: see guard::TakenByPublic. A
// list is taken whole or not at all.
Entries PublicHosts(const Entries& hosts, AddressMode private_addresses);

}  // namespace cordon::policy
