// The messages of SOCKS5 (RFC 1928) that a server reads and writes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::proxy {

enum class SocksState { kNeedMore, kMalformed, kComplete };

enum class SocksReply : uint8_t {
  kOk = 0,
  kFailure = 1,
  kDenied = 2,
  kHostUnreachable = 4,
  kRefused = 5,
  kBadCommand = 7,
  kBadAddressType = 8,
};

// The client's greeting. `no_auth`: it offers to do without authentication,
// which is all that is spoken here.
struct SocksGreeting {
  SocksState state = SocksState::kMalformed;
  size_t size = 0;
  bool no_auth = false;
  bool operator==(const SocksGreeting&) const = default;
};
SocksGreeting ParseSocksGreeting(std::string_view bytes);

inline constexpr std::string_view kSocksUseNoAuth("\x05\x00", 2);
inline constexpr std::string_view kSocksNoMethod("\x05\xff", 2);

struct SocksRequest {
  SocksState state = SocksState::kMalformed;
  SocksReply problem = SocksReply::kOk;  // when malformed: the reply to give
  size_t size = 0;
  std::string host;  // the domain's bytes as sent, or the address's text; unjudged
  int port = 0;
  bool operator==(const SocksRequest&) const = default;
};
// BIND and UDP ASSOCIATE are malformed with kBadCommand.
SocksRequest ParseSocksRequest(std::string_view bytes);

std::string FormatSocksReply(SocksReply reply);

}  // namespace cordon::proxy
