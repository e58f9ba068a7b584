// May this name, this address be reached? Pure: the caller resolves, and asks
// again about every address that it got.
//
// A connection is decided in two steps that both must allow it: DecideHost
// before anything is resolved (a denied name never reaches a resolver), then
// DecideAddress for each answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"
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
// overlong labels, octal, hex, short and dword addresses. IPv6 is taken bare
// or in brackets.
Result<Host> ParseHost(std::string_view text);

struct HostPort {
  Host host;
  int port = 0;
};
// "host:port"; without a port `default_port`, and an error if that is 0. The
// port is 1 to 65535 in plain decimal.
Result<HostPort> ParseHostPort(std::string_view text, int default_port = 0);

// One pattern of net.allow or net.deny: "x", "*.x", "**.x", an address, each
// with or without ":port".
struct HostPattern {
  enum class Kind { kExact, kSubdomains, kApexAndSubdomains, kAddress };
  Kind kind = Kind::kExact;
  std::string name;  // without the wildcard
  std::optional<IpAddress> address;
  std::optional<int> port;  // none: 80 and 443 when allowing, every port when denying
  std::string text;         // as written
  std::string origin;       // "policy.toml:7"
  bool operator==(const HostPattern&) const = default;
};

// Also refuses patterns as wide as "*", "*.com" or another public suffix.
Result<HostPattern> ParseHostPattern(std::string_view text);
bool MatchesName(const HostPattern& pattern, const Host& host);  // whatever the port

struct NetRules {
  NetMode mode = NetMode::kNone;
  std::vector<HostPattern> allow;
  std::vector<HostPattern> deny;
  AddressMode private_addresses = AddressMode::kDeny;
  std::vector<IpAddress> own_addresses;  // of the host's interfaces: denied like loopback
  bool operator==(const NetRules&) const = default;
};

struct NetDecision {
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied
  std::string rule;                   // "deny gist.github.com (policy.toml:7)", "no rule allows it"
  std::string hint;                   // what would allow it, if anything would
};

// kNone denies all; kProxy wants a match of `allow`; kPublic takes any name but
// an address that is not public; kOpen takes all. `deny` beats all of them. A bare
// address needs an address pattern in every mode but kPublic and kOpen.
NetDecision DecideHost(const NetRules& rules, const Host& host, int port);

// Whether DNS may answer for the name: it is allowed on some port.
NetDecision DecideLookup(const NetRules& rules, const Host& host);

// An answer for `host`. Metadata is denied always; other special addresses
// unless private_addresses allows them (private and shared only) or the policy
// allows that very address literally.
NetDecision DecideAddress(const NetRules& rules, const Host& host, const IpAddress& address);

// The ports that some rule allows, sorted: what transparent capture listens on.
// 22, 80 and 443 are always among them.
std::vector<int> AllowedPorts(const NetRules& rules);

}  // namespace cordon::guard
