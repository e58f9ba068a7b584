// Host names and "host:port" as they are compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cordon/result.h"
#include "guard/ip_address.h"

namespace cordon::guard {

// A host as it is compared: lower case ASCII (IDNA), no trailing dot; or an
// address. Made only by ParseHost.
struct Host {
  std::string name;  // "xn--bcher-kva.example"; of an address its canonical text
  std::optional<IpAddress> address;
  bool operator==(const Host&) const = default;
};

// Refuses what some client or resolver could read as another host: NUL and
// other control bytes, spaces, percent-encoding, userinfo, zone ids, empty or
// overlong labels, octal, hex, short and dword addresses, and Unicode that
// maps to an address. IPv6 is taken bare or in brackets. The error is
// kHostInvalid; the name of the result reads back as the same host.
Result<Host> ParseHost(std::string_view text);

// Whether `text` is just how `host` is written in Unicode: IDNA mapped nothing in it
// but the case of ASCII letters, so that clients which map less read the same.
bool IsUnicodeOf(std::string_view text, const Host& host);

struct HostPort {
  Host host;
  int port = 0;
  bool operator==(const HostPort&) const = default;
};
// "host:port"; without a port `default_port`, and an error if that is 0. The
// port is 1 to 65535 in plain decimal.
Result<HostPort> ParseHostPort(std::string_view text, int default_port = 0);

// "a.example", "[::1]"; and with the port. What ParseHostPort reads back.
std::string ToString(const Host& host);
std::string ToString(const HostPort& target);

}  // namespace cordon::guard
