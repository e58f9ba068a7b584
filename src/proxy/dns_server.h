// The sockets of DNS inside the sandbox, where every address is local: a query
// to any server is ours, and is answered from the address that it was sent to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cordon/result.h"
#include "proxy/async.h"
#include "proxy/dns_responder.h"
#include "sys/fd.h"

namespace cordon::proxy {

struct DnsSockets {
  // Of IPv6 with IPV6_FREEBIND, without which the kernel refuses to send from
  // an address that is local by a route only.
  std::vector<sys::UniqueFd> udp;
  std::vector<sys::UniqueFd> tcp;  // listening
};

struct DnsLimits {
  size_t connections = 256;    // more are closed at once
  uint64_t query_ms = 10'000;  // from one answer on a connection to the next
};

// Serves until the executor's context ends.
Status ServeDns(const Executor& executor, const std::shared_ptr<DnsResponder>& responder,
                DnsSockets sockets, DnsLimits limits = {});

}  // namespace cordon::proxy
