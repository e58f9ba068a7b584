// Runs in: supervisor. Pure.
//
// The sandbox's side of the network: addresses and routes that make every
// address local, and the listening sockets that are made inside and handed to
// the supervisor. A socket belongs to the namespace that it was made in,
// whoever holds it.
#pragma once

#include <vector>

#include "backend/child_spec.h"
#include "plan/net_plan.h"

namespace cordon::backend {

enum class SocketUse { kProxy, kCapture, kDnsUdp, kDnsTcp, kHostPort };

struct InsideSocket {
  SocketUse use;
  int port;
  guard::Family family;
  bool operator==(const InsideSocket&) const = default;
};

// In the order in which the supervisor gets them.
std::vector<InsideSocket> InsideSockets(const plan::NetPlan& net);

std::vector<Step> NetOps(const plan::NetPlan& net);

}  // namespace cordon::backend
