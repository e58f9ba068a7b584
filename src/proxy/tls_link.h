// Handing the TLS of a connection to the companion: what was a socket of the
// network becomes the plaintext inside it.
#pragma once

#include <string>

#include "proxy/connection.h"

namespace cordon::proxy {

// The client's, as the server `host`; `in` is what it has said so far. The
// upstream's, as a client that wants `host` proven. What failed, or nothing.
Task<std::string> ServeTls(Connection& connection, const guard::Host& host);
Task<std::string> ConnectTls(Connection& connection, const guard::Host& host);

// Of a plaintext that has ended: whether it broke off, and not by the peer's word.
bool BrokeOff(Socket& plaintext);

}  // namespace cordon::proxy
