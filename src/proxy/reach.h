// From a host and port that a client asked for to a connection, or a refusal.
#pragma once

#include <optional>

#include "proxy/connection.h"

namespace cordon::proxy {

enum class Purpose { kTunnel, kHttpRequest, kHttpsRequest };

// Decides by name, resolves once, decides by address, and dials an address that
// passed. On success the connection's `upstream` is open and its event begun.
// With a parent proxy it is asked to connect; for an HTTP request to one that
// speaks HTTP that is left to the request itself (see ParentFor). For an HTTPS
// request the server has proven to be the host, and `upstream` is its plaintext.
Task<std::optional<Refusal>> Reach(Connection& connection, guard::HostPort target, Purpose purpose);

// The parent that requests of plain HTTP to `target` are sent to as they stand.
const ParentProxy* HttpParentFor(const Server& server, const guard::HostPort& target);

}  // namespace cordon::proxy
