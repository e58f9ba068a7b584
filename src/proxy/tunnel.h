// A connection that is passed on without being understood, but for the name in
// a TLS client's first message.
#pragma once

#include "proxy/connection.h"

namespace cordon::proxy {

// `upstream` is open. The server may speak at once; what the client says first is
// held until it was looked at: of TLS the server name must be the target's, and to
// an address one that it may stand for (see RefuseNamed). Ends when both directions
// have.
Task<void> RunTunnel(Connection& connection);

// The same without a look.
Task<void> RunRelay(Connection& connection);

// Whether what is said to the target has to be seen: it has rules for its requests,
// its TLS is looked into, or it is an address on the port of plain HTTP, whose
// requests name a host.
bool NeedsLook(const Server& server, const guard::HostPort& target);

// An address stands for whatever name is asked for there. Not for one that is
// denied, or whose requests have to be seen: those are reached by name.
std::optional<Refusal> RefuseNamed(const Server& server, const guard::Host& named, int port);

// For such a target: the client's requests are read as HTTP, inside TLS too where
// it is intercepted, and each of them is decided. With rules, and on the port of
// plain HTTP, what cannot be read is denied. Nothing is dialled yet.
Task<void> RunInspected(Connection& connection, guard::HostPort target);

}  // namespace cordon::proxy
