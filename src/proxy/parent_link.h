// Asking a parent proxy for a tunnel.
#pragma once

#include <string>

#include "proxy/async.h"
#include "proxy/parent_proxy.h"

namespace cordon::proxy {

// `socket` is connected to the parent; afterwards it is as good as connected to
// the target. What failed, or nothing.
Task<std::string> AskParent(Socket& socket, const ParentProxy& parent, guard::HostPort target);

}  // namespace cordon::proxy
