// One connection by way of a proxy, for a program that is none itself.
#pragma once

#include <optional>

#include "cordon/result.h"
#include "proxy/parent_proxy.h"
#include "sys/fd.h"

namespace cordon::proxy {

// Asks `parent` for `target`, or dials it where there is no parent or it is not meant
// for it. Blocking, for 30 seconds at most; the socket blocks, too. A parent behind
// TLS is `unsupported` here.
Result<sys::UniqueFd> ConnectThrough(const std::optional<ParentProxy>& parent,
                                     const guard::HostPort& target);

}  // namespace cordon::proxy
