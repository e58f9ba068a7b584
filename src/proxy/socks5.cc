#include "proxy/socks5.h"

#include <algorithm>

#include "guard/ip_address.h"

namespace cordon::proxy {
namespace {

constexpr uint8_t kVersion = 5;
constexpr uint8_t kConnect = 1;
constexpr uint8_t kIpv4 = 1, kDomain = 3, kIpv6 = 4;
constexpr size_t kHeadBytes = 4;  // version, command, reserved, address type

uint8_t Byte(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

std::string AddressText(guard::Family family, std::string_view bytes) {
  guard::IpAddress address{.family = family};
  std::ranges::copy(bytes, address.bytes.begin());
  return guard::ToString(address);
}

SocksRequest Refused(SocksReply problem) {
  return {.state = SocksState::kMalformed, .problem = problem};
}

SocksRequest NeedMore() { return {.state = SocksState::kNeedMore}; }

}  // namespace

SocksGreeting ParseSocksGreeting(std::string_view bytes) {
  if (!bytes.empty() && Byte(bytes, 0) != kVersion) return {};
  if (bytes.size() < 2) return {.state = SocksState::kNeedMore};
  size_t count = Byte(bytes, 1);
  if (count == 0) return {};
  if (bytes.size() < 2 + count) return {.state = SocksState::kNeedMore};
  bool no_auth = bytes.substr(2, count).find('\0') != std::string_view::npos;
  return {.state = SocksState::kComplete, .size = 2 + count, .no_auth = no_auth};
}

SocksRequest ParseSocksRequest(std::string_view bytes) {
  if (!bytes.empty() && Byte(bytes, 0) != kVersion) return Refused(SocksReply::kFailure);
  if (bytes.size() > 1 && Byte(bytes, 1) != kConnect) return Refused(SocksReply::kBadCommand);
  if (bytes.size() > 2 && Byte(bytes, 2) != 0) return Refused(SocksReply::kFailure);
  if (bytes.size() <= kHeadBytes) return NeedMore();
  size_t start = kHeadBytes;
  size_t length = 0;
  switch (Byte(bytes, 3)) {
    case kIpv4:
      length = 4;
      break;
    case kIpv6:
      length = 16;
      break;
    case kDomain:
      start += 1;
      length = Byte(bytes, kHeadBytes);
      if (length == 0) return Refused(SocksReply::kDenied);
      break;
    default:
      return Refused(SocksReply::kBadAddressType);
  }
  if (bytes.size() < start + length + 2) return NeedMore();
  std::string_view address = bytes.substr(start, length);
  SocksRequest request{.state = SocksState::kComplete, .size = start + length + 2};
  request.host = Byte(bytes, 3) == kDomain ? std::string(address)
                 : length == 4             ? AddressText(guard::Family::kV4, address)
                                           : AddressText(guard::Family::kV6, address);
  request.port = Byte(bytes, start + length) << 8 | Byte(bytes, start + length + 1);
  return request;
}

std::string FormatSocksReply(SocksReply reply) {
  // The bound address is nobody's business inside: 0.0.0.0:0.
  std::string text("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10);
  text[1] = static_cast<char>(reply);
  return text;
}

}  // namespace cordon::proxy
