#include "guard/net_rules.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace cordon::guard {
namespace {

using Kind = HostPattern::Kind;

// Names that answer with an instance's credentials inside some cloud. Those
// below ".internal" and those of one label are in kInsideSuffixes already, but
// a policy may allow those.
constexpr std::string_view kMetadataNames[] = {
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.azure.com",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.oraclecloud.internal",
    "metadata.gce.internal",
    "api.metadata.cloud.ibm.com",
    "instance-data",
    "instance-data.ec2.internal",
    "rancher-metadata",
};

// Ends of names that public DNS does not serve: what answers is the local
// network, the container runtime or the cluster (RFC 6761, 6762 appendix G, 8375).
constexpr std::string_view kInsideSuffixes[] = {
    "internal",    "intranet", "private", "corp",    "home",    "lan",       "local",
    "localdomain", "svc",      "default", "cluster", "invalid", "home.arpa", "consul",
};

// Services whose names stand for whatever address is written in them, or for loopback.
constexpr std::string_view kAnyAddressSuffixes[] = {
    "nip.io", "sslip.io", "xip.io",     "localtest.me", "lvh.me", "vcap.me",  "lacolhost.com",
    "fuf.me", "local.gd", "traefik.me", "backname.io",  "1u.ms",  "rbndr.us", "localdev.me",
};

bool EndsIn(std::string_view name, std::string_view suffix) {
  return name == suffix || (name.size() > suffix.size() && name.ends_with(suffix) &&
                            name[name.size() - suffix.size() - 1] == '.');
}

bool IsLoopbackName(const Host& host) {
  return !host.address &&
         (EndsIn(host.name, "localhost") || EndsIn(host.name, "ip6-localhost") ||
          EndsIn(host.name, "ip6-loopback") || EndsIn(host.name, "localhost.localdomain") ||
          EndsIn(host.name, "localhost6.localdomain6"));
}

bool IsMetadataName(const Host& host) {
  return std::find(std::begin(kMetadataNames), std::end(kMetadataNames), host.name) !=
         std::end(kMetadataNames);
}

bool IsInsideName(const Host& host) {
  if (host.name.find('.') == std::string::npos) return true;
  return std::any_of(std::begin(kInsideSuffixes), std::end(kInsideSuffixes),
                     [&](std::string_view suffix) { return EndsIn(host.name, suffix); });
}

bool StandsForAnyAddress(const Host& host) {
  return std::any_of(std::begin(kAnyAddressSuffixes), std::end(kAnyAddressSuffixes),
                     [&](std::string_view suffix) { return EndsIn(host.name, suffix); });
}

bool AllowsPort(const HostPattern& pattern, std::optional<int> port) {
  if (!port) return true;
  return pattern.port ? *pattern.port == *port : *port == 80 || *port == 443;
}

// Without a port only a deny of every port denies a lookup.
bool DeniesPort(const HostPattern& pattern, std::optional<int> port) {
  return !pattern.port || pattern.port == port;
}

bool DeniesName(const HostPattern& pattern, const Host& host) {
  if (MatchesName(pattern, host)) return true;
  if (!pattern.address || !host.address) return false;
  std::vector<IpAddress> carried = EmbeddedIpv4(*host.address);
  return std::find(carried.begin(), carried.end(), *pattern.address) != carried.end();
}

std::string Said(std::string_view verb, const HostPattern& pattern) {
  std::string text = std::string(verb) + " " + pattern.text;
  return pattern.origin.empty() ? text : text + " (" + pattern.origin + ")";
}

NetDecision Allowed(std::string rule) {
  return {.allowed = true, .reason = Reason::kInternal, .rule = std::move(rule)};
}

NetDecision Denied(Reason reason, std::string rule, std::string hint = {}) {
  return {.allowed = false, .reason = reason, .rule = std::move(rule), .hint = std::move(hint)};
}

NetDecision AllowedBy(const HostPattern& pattern) {
  NetDecision decision = Allowed(Said("allow", pattern));
  decision.origin = pattern.origin;
  return decision;
}

NetDecision DeniedBy(const HostPattern& pattern, Reason reason) {
  NetDecision decision = Denied(reason, Said("deny", pattern));
  decision.origin = pattern.origin;
  return decision;
}

// What to write into net.allow for it.
std::string AllowHint(const Host& host, std::optional<int> port) {
  bool web = !port || *port == 80 || *port == 443;
  std::string text = web ? ToString(host) : ToString(HostPort{host, *port});
  return "net.allow = [\"" + text + "\"]";
}

const HostPattern* FindDeny(const NetRules& rules, const Host& host, std::optional<int> port) {
  for (const HostPattern& pattern : rules.deny) {
    if (DeniesPort(pattern, port) && DeniesName(pattern, host)) return &pattern;
  }
  return nullptr;
}

const HostPattern* FindAllow(const NetRules& rules, const Host& host, std::optional<int> port) {
  for (const HostPattern& pattern : rules.allow) {
    if (AllowsPort(pattern, port) && MatchesName(pattern, host)) return &pattern;
  }
  return nullptr;
}

Host AsHost(const IpAddress& address) { return {.name = ToString(address), .address = address}; }

NetDecision DeniedKind(const IpAddress& address, AddressKind kind, std::string hint) {
  return Denied(Reason::kAddressDenied, ToString(address) + " is " + std::string(KindName(kind)),
                std::move(hint));
}

NetDecision DecideSpecial(const NetRules& rules, const IpAddress& address,
                          std::optional<int> port) {
  AddressKind kind = KindOf(address);
  if (kind == AddressKind::kMetadata) return DeniedKind(address, kind, {});
  if (const HostPattern* allow = FindAllow(rules, AsHost(address), port)) {
    return AllowedBy(*allow);
  }
  auto own = std::find(rules.own_addresses.begin(), rules.own_addresses.end(), address);
  if (own != rules.own_addresses.end()) {
    return Denied(Reason::kAddressDenied, ToString(address) + " is this host's own",
                  "net.host_ports reaches chosen ports of this host");
  }
  if (kind == AddressKind::kPublic) return Allowed("the address is public");
  bool local = kind == AddressKind::kPrivate || kind == AddressKind::kShared;
  if (local && rules.private_addresses == AddressMode::kAllow) {
    return Allowed("private_addresses = \"allow\"");
  }
  if (kind == AddressKind::kLoopback) {
    return DeniedKind(address, kind, "net.host_ports reaches chosen ports of this host");
  }
  std::string hint = local ? "net.private_addresses = \"allow\", or " : "";
  return DeniedKind(address, kind, hint + AllowHint(AsHost(address), port));
}

// The host's own addresses may hide in an IPv6 form, too.
NetDecision DecideLiteral(const NetRules& rules, const IpAddress& address,
                          std::optional<int> port) {
  if (const HostPattern* deny = FindDeny(rules, AsHost(address), port)) {
    return DeniedBy(*deny, Reason::kAddressDenied);
  }
  for (const IpAddress& carried : EmbeddedIpv4(address)) {
    if (FindAllow(rules, AsHost(address), port)) break;
    NetDecision inner = DecideSpecial(rules, carried, port);
    if (!inner.allowed) return inner;
  }
  return DecideSpecial(rules, address, port);
}

// Loopback by name: what 127.0.0.1 and ::1 are allowed is allowed.
std::optional<NetDecision> DecideKnownName(const NetRules& rules, const Host& host,
                                           std::optional<int> port) {
  if (IsMetadataName(host)) {
    return Denied(Reason::kHostDenied, host.name + " is a name of cloud metadata");
  }
  if (!IsLoopbackName(host)) return std::nullopt;
  NetDecision v4 = DecideLiteral(rules, *ParseIp("127.0.0.1"), port);
  NetDecision v6 = DecideLiteral(rules, *ParseIp("::1"), port);
  if (v4.allowed || v6.allowed) return std::nullopt;
  return Denied(Reason::kAddressDenied, host.name + " is this machine's loopback", v4.hint);
}

NetDecision DecideByAllow(const NetRules& rules, const Host& host, std::optional<int> port) {
  const HostPattern* allow = FindAllow(rules, host, port);
  if (allow == nullptr) {
    std::string rule = "no rule allows it";
    if (const HostPattern* other = FindAllow(rules, host, std::nullopt)) {
      rule = "port " + std::to_string(*port) + " is not allowed, only by " + Said("allow", *other);
    }
    return Denied(Reason::kHostDenied, std::move(rule), AllowHint(host, port));
  }
  if (!host.address) return AllowedBy(*allow);
  return DecideLiteral(rules, *host.address, port);
}

NetDecision DecidePublic(const NetRules& rules, const Host& host, std::optional<int> port) {
  if (FindAllow(rules, host, port) != nullptr) return DecideByAllow(rules, host, port);
  if (host.address) {
    NetDecision literal = DecideLiteral(rules, *host.address, port);
    std::vector<IpAddress> carried = EmbeddedIpv4(*host.address);
    if (!literal.allowed || carried.empty()) return literal;
    return Denied(Reason::kAddressDenied, host.name + " is an IPv4 address in disguise",
                  "write " + ToString(carried.front()));
  }
  if (IsInsideName(host) && rules.private_addresses == AddressMode::kDeny) {
    return Denied(Reason::kHostDenied, host.name + " is not a public name",
                  "net.private_addresses = \"allow\", or " + AllowHint(host, port));
  }
  if (StandsForAnyAddress(host)) {
    return Denied(Reason::kHostDenied, host.name + " may stand for any address",
                  AllowHint(host, port));
  }
  return Allowed("mode = \"public\"");
}

NetDecision Decide(const NetRules& rules, const Host& host, std::optional<int> port) {
  if (rules.mode == NetMode::kNone) {
    return Denied(Reason::kHostDenied, "mode = \"none\"",
                  "net.mode = \"proxy\" and " + AllowHint(host, port));
  }
  if (const HostPattern* deny = FindDeny(rules, host, port)) {
    return DeniedBy(*deny, Reason::kHostDenied);
  }
  if (rules.mode == NetMode::kOpen) return Allowed("mode = \"open\"");
  if (rules.mode == NetMode::kProxy && FindAllow(rules, host, port) == nullptr) {
    return DecideByAllow(rules, host, port);
  }
  if (auto known = DecideKnownName(rules, host, port)) return *known;
  if (rules.mode == NetMode::kProxy) return DecideByAllow(rules, host, port);
  return DecidePublic(rules, host, port);
}

}  // namespace

NetDecision DecideHost(const NetRules& rules, const Host& host, int port) {
  return Decide(rules, host, port);
}

NetDecision DecideLookup(const NetRules& rules, const Host& host) {
  return Decide(rules, host, std::nullopt);
}

NetDecision DecideAddress(const NetRules& rules, const Host& host, const IpAddress& address,
                          int port) {
  std::optional<int> wanted = port == 0 ? std::nullopt : std::optional<int>(port);
  NetDecision decision = DecideLiteral(rules, address, wanted);
  if (!decision.allowed && !host.address) decision.rule = host.name + ": " + decision.rule;
  return decision;
}

AnswerDecision DecideAnswers(const NetRules& rules, const Host& host,
                             const std::vector<IpAddress>& answers, int port) {
  if (answers.empty()) {
    return {Denied(Reason::kUpstreamFailed, host.name + " has no address"), {}};
  }
  NetDecision decision;
  for (const IpAddress& address : answers) {
    decision = DecideAddress(rules, host, address, port);
    if (!decision.allowed) return {decision, {}};
  }
  return {decision, answers.front()};
}

bool TakenByPublic(const HostPattern& pattern, AddressMode private_addresses) {
  NetRules rules;
  rules.mode = NetMode::kPublic;
  rules.private_addresses = private_addresses;
  return DecidePublic(rules, {pattern.name, pattern.address}, std::nullopt).allowed;
}

NetDecision DecideDeny(const NetRules& rules, const Host& host, int port) {
  const HostPattern* deny = FindDeny(rules, host, port);
  return deny == nullptr ? Allowed("nothing denies it") : DeniedBy(*deny, Reason::kHostDenied);
}

bool IsIntercepted(const NetRules& rules, const Host& host, int port) {
  return std::ranges::any_of(rules.intercept, [&](const HostPattern& pattern) {
    bool at_port = pattern.port ? *pattern.port == port : port == 80 || port == 443;
    return at_port && MatchesName(pattern, host);
  });
}

std::vector<int> AllowedPorts(const NetRules& rules) {
  std::set<int> ports = {22, 80, 443};
  for (const HostPattern& pattern : rules.allow) {
    if (pattern.port) ports.insert(*pattern.port);
  }
  return {ports.begin(), ports.end()};
}

}  // namespace cordon::guard
