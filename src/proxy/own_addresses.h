// The addresses of the host's interfaces.
#pragma once

#include <chrono>
#include <vector>

#include "guard/ip_address.h"

namespace cordon::proxy {

class OwnAddresses {
 public:
  // Read anew when a few seconds old. Loopback interfaces are left out: what is
  // loopback is denied by its kind, and what else is put there on purpose is
  // as good as another host.
  const std::vector<guard::IpAddress>& Get();
  // Whether they could be read; if not, Get has the last ones known.
  bool Refresh();

 private:
  std::vector<guard::IpAddress> addresses_;
  std::chrono::steady_clock::time_point read_{};
};

}  // namespace cordon::proxy
