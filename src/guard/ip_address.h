// IP addresses as bytes, and what kind of address each one is. Text is read
// strictly: dotted decimal without leading zeros, or RFC 4291; no zone, no
// octal, hex, short or dword form. What is not read is not an address.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::guard {

enum class Family : uint8_t { kV4, kV6 };

struct IpAddress {
  Family family = Family::kV4;
  std::array<uint8_t, 16> bytes{};  // the first four for kV4
  auto operator<=>(const IpAddress&) const = default;
};

std::optional<IpAddress> ParseIp(std::string_view text);
std::string ToString(const IpAddress& address);  // RFC 5952

// Everything but kPublic is special. An IPv6 address that carries an IPv4 one
// (mapped, compatible, NAT64, 6to4, Teredo) is of the worse kind of the two.
enum class AddressKind {
  kPublic,
  kPrivate,  // RFC 1918, unique local, site local
  kShared,   // 100.64/10
  kLinkLocal,
  kLoopback,
  kUnspecified,
  kMulticast,
  kBroadcast,
  kBenchmarking,
  kDocumentation,
  kReserved,
  kMetadata,  // a cloud's instance metadata, whatever range it lies in
};
AddressKind KindOf(const IpAddress& address);
std::string_view KindName(AddressKind kind);  // "private", "cloud metadata"

}  // namespace cordon::guard
