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
#include <vector>

namespace cordon::guard {

enum class Family : uint8_t { kV4, kV6 };

struct IpAddress {
  Family family = Family::kV4;
  std::array<uint8_t, 16> bytes{};  // the first four for kV4
  auto operator<=>(const IpAddress&) const = default;
};

std::optional<IpAddress> ParseIp(std::string_view text);
std::string ToString(const IpAddress& address);  // RFC 5952

// The IPv4 addresses that an IPv6 one carries: mapped, translated, compatible,
// NAT64, 6to4, Teredo (server and client), ISATAP. Where the form leaves the
// place open, one for each place. None for IPv4 and for a plain IPv6 address.
std::vector<IpAddress> EmbeddedIpv4(const IpAddress& address);

// Everything but kPublic is special. The later, the worse: an IPv6 address
// that carries IPv4 ones is of the worst kind among them and itself.
enum class AddressKind {
  kPublic,
  kPrivate,  // RFC 1918, unique local, site local, local NAT64
  kShared,   // 100.64/10
  kLinkLocal,
  kLoopback,
  kUnspecified,  // 0/8 and ::
  kMulticast,
  kBroadcast,
  kBenchmarking,
  kDocumentation,
  kReserved,  // also the retired transition forms: 6to4, Teredo, compatible
  kMetadata,  // a cloud's instance metadata and its like, whatever range it lies in
};
AddressKind KindOf(const IpAddress& address);
std::string_view KindName(AddressKind kind);  // "private", "cloud metadata"

}  // namespace cordon::guard
