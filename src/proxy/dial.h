// Connecting to one of several addresses that were checked before.
#pragma once

#include <optional>
#include <vector>

#include "proxy/async.h"
#include "proxy/proxy.h"

namespace cordon::proxy {

struct Dialled {
  std::optional<Socket> socket;
  Endpoint endpoint;  // that answered; of a failure the last one tried
  int failure = 0;    // errno when there is no socket
};

// One address after the other, the next one when one failed or 250 ms went by
// (RFC 8305), the families in turn; the first to answer is it.
// `make` makes the sockets, if they are not to be of this network namespace.
Task<Dialled> Dial(std::vector<Endpoint> endpoints, Clock::time_point deadline,
                   SocketFactory make = {});

}  // namespace cordon::proxy
