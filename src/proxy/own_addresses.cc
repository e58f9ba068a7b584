#include "proxy/own_addresses.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>

namespace cordon::proxy {
namespace {

constexpr std::chrono::seconds kFresh(5);

void Add(const sockaddr* from, std::vector<guard::IpAddress>& to) {
  guard::IpAddress address;
  if (from->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, from, sizeof v4);
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
  } else if (from->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, from, sizeof v6);
    address.family = guard::Family::kV6;
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
  } else {
    return;
  }
  to.push_back(address);
}

}  // namespace

const std::vector<guard::IpAddress>& OwnAddresses::Get() {
  if (std::chrono::steady_clock::now() - read_ >= kFresh) Refresh();
  return addresses_;
}

bool OwnAddresses::Refresh() {
  read_ = std::chrono::steady_clock::now();
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return false;
  addresses_.clear();
  for (ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr != nullptr && (one->ifa_flags & IFF_LOOPBACK) == 0) {
      Add(one->ifa_addr, addresses_);
    }
  }
  freeifaddrs(list);
  return true;
}

}  // namespace cordon::proxy
