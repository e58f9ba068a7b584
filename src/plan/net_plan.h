// The network part of a policy, resolved.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "cordon/result.h"
#include "guard/net_rules.h"
#include "host/path_probe.h"
#include "plan/fs_plan.h"

namespace cordon::plan {

// A socket of the host that may be connected to. Where the command can change
// the way to it, only the very socket that was there is meant; elsewhere
// whatever its server has put there since.
struct SocketGrant {
  std::string path;  // canonical
  uint64_t device = 0;
  uint64_t inode = 0;
  bool pinned = false;
  bool operator==(const SocketGrant&) const = default;
};

// Where HTTP and SOCKS5 are spoken inside.
inline constexpr int kProxyPort = 3128;
inline constexpr int kDnsPort = 53;

// What the command reaches of the network, and how. In a network namespace of
// its own every address is local: the listeners made in there accept whatever
// the command connects to.
struct NetPlan {
  NetMode mode = NetMode::kNone;
  guard::NetRules rules;        // what the proxy decides by
  std::vector<int> ports;       // captured at every address
  std::vector<int> host_ports;  // of the host's loopback, reached at the same port inside
  std::vector<int> publish;     // of the sandbox, reached at the same port of the host's loopback
  std::vector<SocketGrant> unix_sockets;
  std::string upstream;  // a parent proxy; may hold a password
  std::string no_proxy;
  std::optional<ExternalProxy> external;  // instead of ours; its ports are among host_ports
  std::optional<TlsAuthority> tls_ca;     // files of the user's own
  std::vector<Credential> credentials;    // where they are, not what they are
  // Of the authorities that the command trusts, when TLS is looked into: the host's,
  // and where it is seen inside with ours added.
  std::string trust_source;
  std::string trust_bundle;
  bool ipv6 = false;
  // Without namespaces the sandbox is on the host's network, and is kept from it.
  bool host_network = false;
  int proxy_port = kProxyPort;
  bool operator==(const NetPlan&) const = default;

  bool own_namespace() const { return mode != NetMode::kOpen && !host_network; }
  bool intercepts() const { return !rules.intercept.empty(); }
  bool proxied() const { return mode == NetMode::kProxy || mode == NetMode::kPublic; }
};

// Each is two listening sockets.
inline constexpr size_t kMostPorts = 64;
// The sandbox's own addresses, outside of loopback: a resolver asks for addresses
// of a family only where the machine has one.
inline constexpr std::string_view kInsideV4 = "198.18.0.1";
inline constexpr std::string_view kInsideV6 = "fd63:6f72:646f:6e::1";

// The rules that the proxy decides by: lists expanded, patterns parsed, each
// with where it stands: "policy.toml:7", "@npm, preset workspace:210". The
// host's own addresses are left to the caller. A text that is no pattern is an
// error with its place.
Result<guard::NetRules> ResolveNetRules(const Policy& policy);

// The parent proxy: the policy's, or else the environment's.
struct Parent {
  std::string upstream;
  std::string no_proxy;
};
Parent ParentOf(const NetPolicy& policy, const std::map<std::string, std::string>& environment);

struct NetInputs {
  const Policy& policy;
  const host::PathProbe& probe;
  const std::map<std::string, std::string>& environment;  // the caller's
  bool ipv6 = false;
  int proxy_port = kProxyPort;
};
// Refuses (`unsupported`) what is not built yet, a listed socket that is a grant
// of the host but not listed as such, and a port with two uses.
Result<NetPlan> PlanNet(const NetInputs& inputs);

// Files that the command sees in place of the host's, so that names are looked
// up in the one way that works inside.
struct PrivateFile {
  std::string path;  // canonical
  std::string text;
  bool operator==(const PrivateFile&) const = default;
};
std::vector<PrivateFile> NameServiceFiles(const NetPlan& net, const FsPlan& fs,
                                          const host::PathProbe& probe,
                                          const std::string& hostname);

// Where the host's authorities are and where the command looks for them: sets
// trust_source and trust_bundle. `unsupported` where it could not read them.
Status PlanTrust(const FsPlan& fs, const host::PathProbe& probe,
                 const std::map<std::string, std::string>& environment, NetPlan& net);

// "NAME=value" pairs that lead programs to the proxy, and to the authorities that
// they should trust.
std::map<std::string, std::string> ProxyVariables(const NetPlan& net);

// May a command inside connect there, and by which rule? Before resolution: an
// allowed name may still resolve to an address that is denied.
Result<Verdict> ExplainConnect(const Policy& policy, const guard::HostPort& target);

}  // namespace cordon::plan
