// Which requests of plain HTTP a host's rules allow. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "guard/net_rules.h"
#include "proxy/http_head.h"

namespace cordon::proxy {

// Whether some rule speaks of the host, on whatever port; then all its requests
// must be seen.
bool HasHttpRules(const std::vector<HttpRule>& rules, const guard::Host& host);

// Allowed when no rule speaks of the host, or one of those that do has the port,
// the method and the path; a rule without one of them has all of them. `*` in a
// path stands for part of a segment, `**` for anything. A path that a server could
// read as another one ("/a/../b", "/a%2fb", "//", anything but ASCII) matches only
// a rule for all of them. Fields that name another method or path for the server
// to serve are denied on a host with rules.
guard::NetDecision DecideRequest(const std::vector<HttpRule>& rules, const guard::HostPort& target,
                                 const RequestHead& head, std::string_view origin_form);

}  // namespace cordon::proxy
