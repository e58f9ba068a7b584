#include "proxy/name_table.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cordon::proxy {
namespace {

using guard::Family;
using guard::IpAddress;

// The number of an address lies in its last four bytes, on top of the pool's.
constexpr std::array<uint8_t, 16> kPoolV4 = {198, 18};
constexpr std::array<uint8_t, 16> kPoolV6 = {0xfd, 0x63, 0x6f, 0x72, 0x64, 0x6f, 0x00, 0x6e};

IpAddress AddressOf(size_t number, Family family) {
  const bool v4 = family == Family::kV4;
  IpAddress address{.family = family, .bytes = v4 ? kPoolV4 : kPoolV6};
  for (size_t at = v4 ? 4 : 16; number > 0; number >>= 8) {
    address.bytes[--at] += static_cast<uint8_t>(number);
  }
  return address;
}

// The number that the address would have if it were in the pool.
size_t NumberOf(const IpAddress& address) {
  const size_t start = address.family == Family::kV4 ? 0 : 12;
  const IpAddress pool = AddressOf(0, address.family);
  size_t number = 0;
  for (size_t at = start; at < start + 4; ++at) {
    number = number << 8 | static_cast<uint8_t>(address.bytes[at] - pool.bytes[at]);
  }
  return number;
}

}  // namespace

NameTable::NameTable(size_t capacity) : capacity_(std::min(capacity, kMaxNames)) {}

std::optional<IpAddress> NameTable::AddressFor(const guard::Host& host, Family family) {
  if (host.address) return std::nullopt;
  auto found = index_of_.find(host.name);
  if (found == index_of_.end()) {
    if (names_.size() >= capacity_) return std::nullopt;
    found = index_of_.emplace(host.name, names_.size()).first;
    names_.push_back(&found->first);
  }
  return AddressOf(kReserved + found->second, family);
}

std::optional<guard::Host> NameTable::NameOf(const IpAddress& address) const {
  const size_t number = NumberOf(address);
  if (number < kReserved || number - kReserved >= names_.size()) return std::nullopt;
  if (AddressOf(number, address.family) != address) return std::nullopt;
  return guard::Host{.name = *names_[number - kReserved]};
}

}  // namespace cordon::proxy
