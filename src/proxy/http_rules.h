// Which requests of plain HTTP a host's rules allow. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "guard/net_rules.h"

namespace cordon::proxy {

// Whether some rule speaks of the host; then all its requests must be seen.
bool HasHttpRules(const std::vector<HttpRule>& rules, const guard::Host& host);

// Allowed when no rule speaks of the host, or one of those that do has the
// method and the path; a rule without methods or paths has all of them. `*` in a
// path stands for part of a segment, `**` for anything. `origin_form` is what the
// request asks for; a path that a server could read as another one ("/a/../b",
// "/a%2fb", "//") matches nothing.
guard::NetDecision DecideRequest(const std::vector<HttpRule>& rules, const guard::Host& host,
                                 std::string_view method, std::string_view origin_form);

}  // namespace cordon::proxy
