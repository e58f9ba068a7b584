// Addresses that stand for names. DNS inside gives them out; a connection to one
// tells which name was meant, whatever the client made of the answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "guard/ip_address.h"
#include "guard/net_rules.h"

namespace cordon::proxy {

// Lives on the proxy's thread.
class NameTable {
 public:
  // 198.18.0.0/15 and fd63:6f72:646f:6e::/64, each without its first 256
  // addresses, of which the network namespace itself has one.
  static constexpr size_t kReserved = 256;
  static constexpr size_t kMaxNames = 131'072 - kReserved;

  explicit NameTable(size_t capacity = kMaxNames);

  // The same for as long as the table lives. Nothing when the table is full: no
  // address is ever given to a second name, for a client may hold on to it. Also
  // nothing for a host that is an address.
  std::optional<guard::IpAddress> AddressFor(const guard::Host& host, guard::Family family);

  // Nothing for an address that was not given out.
  std::optional<guard::Host> NameOf(const guard::IpAddress& address) const;

 private:
  size_t capacity_;
  std::unordered_map<std::string, size_t> index_of_;
  std::vector<const std::string*> names_;  // keys of index_of_, which stay where they are
};

}  // namespace cordon::proxy
