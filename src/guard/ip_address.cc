#include "guard/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <span>

namespace cordon::guard {
namespace {

using Bytes = std::array<uint8_t, 16>;

// The first `bits` bits of `bytes`.
struct Range {
  Bytes bytes;
  int bits;
  AddressKind kind;
};

bool Starts(const Bytes& address, const Range& range) {
  size_t whole = static_cast<size_t>(range.bits) / 8;
  if (!std::equal(range.bytes.begin(), range.bytes.begin() + whole, address.begin())) return false;
  int rest = range.bits % 8;
  return rest == 0 || (address[whole] >> (8 - rest)) == (range.bytes[whole] >> (8 - rest));
}

// The first that holds the address decides; what none holds is public.
// IANA's special-purpose registry, RFC 6890 and its updates.
constexpr Range kV4Ranges[] = {
    // AWS, GCP, Azure, OpenStack and others; 253 and 123 are Amazon's DNS and time.
    {{169, 254, 169}, 24, AddressKind::kMetadata},
    {{169, 254, 170, 2}, 32, AddressKind::kMetadata},    // ECS
    {{169, 254, 170, 23}, 32, AddressKind::kMetadata},   // EKS
    {{169, 254, 0, 23}, 32, AddressKind::kMetadata},     // Tencent
    {{169, 254, 42, 42}, 32, AddressKind::kMetadata},    // Scaleway
    {{168, 63, 129, 16}, 32, AddressKind::kMetadata},    // Azure
    {{100, 100, 100, 200}, 32, AddressKind::kMetadata},  // Alibaba
    {{192, 0, 0, 192}, 32, AddressKind::kMetadata},      // Oracle
    {{0}, 8, AddressKind::kUnspecified},
    {{10}, 8, AddressKind::kPrivate},
    {{100, 64}, 10, AddressKind::kShared},
    {{127}, 8, AddressKind::kLoopback},
    {{169, 254}, 16, AddressKind::kLinkLocal},
    {{172, 16}, 12, AddressKind::kPrivate},
    {{192, 0, 0}, 24, AddressKind::kReserved},
    {{192, 0, 2}, 24, AddressKind::kDocumentation},
    {{192, 88, 99}, 24, AddressKind::kReserved},  // 6to4 relays, retired
    {{192, 168}, 16, AddressKind::kPrivate},
    {{198, 18}, 15, AddressKind::kBenchmarking},
    {{198, 51, 100}, 24, AddressKind::kDocumentation},
    {{203, 0, 113}, 24, AddressKind::kDocumentation},
    {{224}, 4, AddressKind::kMulticast},
    {{255, 255, 255, 255}, 32, AddressKind::kBroadcast},
    {{240}, 4, AddressKind::kReserved},
};

constexpr Range kV6Ranges[] = {
    {{0xfd, 0x00, 0x0e, 0xc2}, 32, AddressKind::kMetadata},  // AWS
    {{0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54},
     128,
     AddressKind::kMetadata},  // GCP
    {{0xfd, 0x00, 0x00, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe},
     128,
     AddressKind::kMetadata},  // Oracle
    {{0xfd, 0x00, 0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42},
     128,
     AddressKind::kMetadata},  // Scaleway
    {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe},
     128,
     AddressKind::kMetadata},  // OpenStack
    {{0}, 128, AddressKind::kUnspecified},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, AddressKind::kLoopback},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, AddressKind::kPublic},  // as what it carries
    {{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, 96, AddressKind::kPublic},  // likewise
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, AddressKind::kPrivate},
    {{0x20, 0x01, 0, 2, 0, 0}, 48, AddressKind::kBenchmarking},
    {{0x20, 0x01, 0, 0}, 23, AddressKind::kReserved},  // Teredo, ORCHID and other protocols
    {{0x20, 0x01, 0x0d, 0xb8}, 32, AddressKind::kDocumentation},
    {{0x20, 0x02}, 16, AddressKind::kReserved},  // 6to4
    {{0x3f, 0xff, 0x00}, 20, AddressKind::kDocumentation},
    {{0x20}, 3, AddressKind::kPublic},
    {{0xfc}, 7, AddressKind::kPrivate},
    {{0xfe, 0x80}, 10, AddressKind::kLinkLocal},
    {{0xfe, 0xc0}, 10, AddressKind::kPrivate},
    {{0xff}, 8, AddressKind::kMulticast},
    {{0}, 0, AddressKind::kReserved},  // nothing else is given out
};

AddressKind KindIn(std::span<const Range> ranges, const Bytes& bytes) {
  for (const Range& range : ranges) {
    if (Starts(bytes, range)) return range.kind;
  }
  return AddressKind::kPublic;
}

IpAddress V4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) { return {Family::kV4, {a, b, c, d}}; }

IpAddress V4At(const Bytes& bytes, size_t at) {
  return V4(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
}

bool Begins(const Bytes& bytes, std::initializer_list<uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

bool IsZero(const Bytes& bytes, size_t from, size_t to) {
  return std::all_of(bytes.begin() + static_cast<ptrdiff_t>(from),
                     bytes.begin() + static_cast<ptrdiff_t>(to),
                     [](uint8_t byte) { return byte == 0; });
}

// Mapped ::ffff:a.b.c.d, translated ::ffff:0:a.b.c.d and compatible ::a.b.c.d.
bool HoldsV4AtEnd(const Bytes& bytes) {
  if (!IsZero(bytes, 0, 8)) return false;
  uint32_t middle = static_cast<uint32_t>(bytes[8] << 24 | bytes[9] << 16 | bytes[10] << 8) |
                    static_cast<uint32_t>(bytes[11]);
  bool compatible = middle == 0 && !IsZero(bytes, 12, 15);  // not :: and not ::1
  return middle == 0xffff || middle == 0xffff0000 || compatible;
}

// A site may use any prefix length of RFC 6052 below 64:ff9b:1::/48 (RFC
// 8215), and its text does not say which. Byte 8 is always skipped. Where
// there is 0.x.x.x there is no address.
void AddLocalNat64(const Bytes& b, std::vector<IpAddress>& found) {
  for (IpAddress address : {V4(b[6], b[7], b[9], b[10]), V4(b[7], b[9], b[10], b[11]),
                            V4(b[9], b[10], b[11], b[12]), V4At(b, 12)}) {
    if (address.bytes[0] != 0) found.push_back(address);
  }
}

bool IsIsatap(const Bytes& b) {
  return (b[8] & ~0x02) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
}

}  // namespace

std::optional<IpAddress> ParseIp(std::string_view text) {
  // inet_pton reads just the forms we want, but stops at a NUL.
  if (text.empty() || text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) {
    return std::nullopt;
  }
  std::string terminated(text);
  IpAddress address;
  bool v6 = text.find(':') != text.npos;
  address.family = v6 ? Family::kV6 : Family::kV4;
  int read = inet_pton(v6 ? AF_INET6 : AF_INET, terminated.c_str(), address.bytes.data());
  if (read != 1) return std::nullopt;
  return address;
}

std::string ToString(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  int family = address.family == Family::kV4 ? AF_INET : AF_INET6;
  inet_ntop(family, address.bytes.data(), text, sizeof text);
  return text;
}

std::vector<IpAddress> EmbeddedIpv4(const IpAddress& address) {
  std::vector<IpAddress> found;
  if (address.family == Family::kV4) return found;
  const Bytes& b = address.bytes;
  if (HoldsV4AtEnd(b)) found.push_back(V4At(b, 12));
  if (Begins(b, {0, 0x64, 0xff, 0x9b}) && IsZero(b, 4, 12)) found.push_back(V4At(b, 12));
  if (Begins(b, {0, 0x64, 0xff, 0x9b, 0, 1})) AddLocalNat64(b, found);
  if (Begins(b, {0x20, 0x02})) found.push_back(V4At(b, 2));
  if (Begins(b, {0x20, 0x01, 0, 0})) {
    found.push_back(V4At(b, 4));
    auto flip = [&](size_t at) { return static_cast<uint8_t>(~b[at]); };
    found.push_back(V4(flip(12), flip(13), flip(14), flip(15)));
  }
  if (IsIsatap(b)) found.push_back(V4At(b, 12));
  return found;
}

AddressKind KindOf(const IpAddress& address) {
  if (address.family == Family::kV4) return KindIn(kV4Ranges, address.bytes);
  AddressKind worst = KindIn(kV6Ranges, address.bytes);
  for (const IpAddress& carried : EmbeddedIpv4(address)) worst = std::max(worst, KindOf(carried));
  return worst;
}

std::string_view KindName(AddressKind kind) {
  switch (kind) {
    case AddressKind::kPublic:
      return "public";
    case AddressKind::kPrivate:
      return "private";
    case AddressKind::kShared:
      return "shared (carrier NAT)";
    case AddressKind::kLinkLocal:
      return "link-local";
    case AddressKind::kLoopback:
      return "loopback";
    case AddressKind::kUnspecified:
      return "unspecified";
    case AddressKind::kMulticast:
      return "multicast";
    case AddressKind::kBroadcast:
      return "broadcast";
    case AddressKind::kBenchmarking:
      return "benchmarking";
    case AddressKind::kDocumentation:
      return "documentation";
    case AddressKind::kReserved:
      return "reserved";
    case AddressKind::kMetadata:
      return "cloud metadata";
  }
  return "unknown";
}

}  // namespace cordon::guard
