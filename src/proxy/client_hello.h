// The first message of TLS, read without answering it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::proxy {

struct ClientHello {
  std::optional<std::string> sni;  // the bytes as sent: give them to guard::ParseHost
  std::vector<std::string> alpn;
  bool has_ech = false;  // also when it is only there for show (GREASE)
  bool operator==(const ClientHello&) const = default;
};

enum class HelloState { kNeedMore, kNotTls, kMalformed, kComplete };

struct HelloReading {
  HelloState state = HelloState::kMalformed;
  ClientHello hello;         // when complete
  std::string_view problem;  // when malformed: "two server names"
};

// A hello that does not end within so many bytes, records' headers included, is
// malformed.
inline constexpr size_t kMaxHelloBytes = 16 * 1024;

// `bytes` is all that the client has sent so far. What follows the record in
// which the hello ends is not looked at. Whatever two readers could take for
// different names (a second server name, a repeated extension, a length that
// does not fit) is malformed.
HelloReading ReadClientHello(std::span<const uint8_t> bytes);

}  // namespace cordon::proxy
