// May this name, this address be reached? Pure: the caller resolves, and asks
// again about every address that it got.
//
// A connection is decided in two steps that both must allow it: DecideHost
// before anything is resolved (a denied name never reaches a resolver), then
// DecideAddress for each answer.
#pragma once

#include <string>
#include <vector>

#include "cordon/policy.h"
#include "cordon/result.h"
#include "guard/host_name.h"
#include "guard/host_pattern.h"
#include "guard/ip_address.h"

namespace cordon::guard {

struct NetRules {
  NetMode mode = NetMode::kNone;
  std::vector<HostPattern> allow;
  std::vector<HostPattern> deny;
  AddressMode private_addresses = AddressMode::kDeny;
  std::vector<IpAddress> own_addresses;  // of the host's interfaces: denied like loopback
  std::vector<HttpRule> http_rules;      // methods and paths; the proxy asks them, not the guard
  std::vector<HostPattern> intercept;    // hosts whose TLS the proxy looks into
  bool operator==(const NetRules&) const = default;
};

struct NetDecision {
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied
  std::string rule;                   // "deny gist.github.com (policy.toml:7)", "no rule allows it"
  std::string hint;                   // what would allow it, if anything would
  std::string origin;                 // where the pattern that decided stands; empty: none did
};

// kNone denies all; kProxy wants a match of `allow`; kPublic takes any name and
// port but names that only mean something inside (one label, ".internal", …)
// and addresses that are not public or are an IPv4 address in disguise; kOpen
// takes all. `deny` beats all of them. A bare address needs an address pattern
// in every mode but kPublic and kOpen. The names of cloud metadata are denied
// always; those of loopback unless the policy allows 127.0.0.1 or ::1.
NetDecision DecideHost(const NetRules& rules, const Host& host, int port);

// Whether DNS may answer for the name: it is allowed on some port.
NetDecision DecideLookup(const NetRules& rules, const Host& host);

// An answer for `host`, to be reached at `port`; 0 asks for any port. Metadata
// is denied always, and what `deny` names, also where it is carried inside an
// IPv6 address; other special addresses unless private_addresses allows them
// (private and shared only) or the policy allows that very address literally.
// A literal address that DecideHost allowed must pass here too.
NetDecision DecideAddress(const NetRules& rules, const Host& host, const IpAddress& address,
                          int port = 0);

// All answers for `host` at once, and the one to connect to. One that is denied
// denies them all: who mixes in an inner address means it.
struct AnswerDecision {
  NetDecision decision;
  IpAddress address;  // if allowed
};
AnswerDecision DecideAnswers(const NetRules& rules, const Host& host,
                             const std::vector<IpAddress>& answers, int port);

// Whether kPublic takes every host of the pattern with no rule that allows it;
// metadata aside, which is denied whoever asks.
bool TakenByPublic(const HostPattern& pattern, AddressMode private_addresses);

// What `deny` says of it, and nothing else: for a name that is only mentioned, to a
// server that was allowed by its address. Allowed where no pattern denies it.
NetDecision DecideDeny(const NetRules& rules, const Host& host, int port);

// Whether the proxy looks into TLS to this host and port. A pattern without a port
// means 80 and 443.
bool IsIntercepted(const NetRules& rules, const Host& host, int port);

// The ports that some rule allows, sorted: what transparent capture listens on.
// 22, 80 and 443 are always among them.
std::vector<int> AllowedPorts(const NetRules& rules);

}  // namespace cordon::guard
