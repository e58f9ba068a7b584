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
  // Bundles of authorities: the host's, by which the proxy verifies servers, and where
  // the command finds it with ours added, when its TLS is looked into.
  std::string trust_source;
  std::string trust_bundle;
  std::string trust_store;  // the same for Java; empty: there is none
  bool ipv6 = false;
  // Without namespaces the sandbox is on the host's network, and is kept from it.
  bool host_network = false;
  // Whether the routes of its own network are ours to set.
  bool routed = true;
  int proxy_port = kProxyPort;
  bool operator==(const NetPlan&) const = default;

  bool own_namespace() const { return mode != NetMode::kOpen && !host_network; }
  // Whether programs that know of no proxy are led to ours.
  bool captures() const { return proxied() && !external && !host_network && routed; }
  bool intercepts() const { return !rules.intercept.empty(); }
  bool parent_by_tls() const { return upstream.starts_with("https://"); }
  // Whether the proxy speaks TLS itself at all.
  bool needs_tls() const { return intercepts() || parent_by_tls(); }
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

// The rules of a run that began with `first` once its policy is `now`: who may be
// reached, and by which requests. What is intercepted stays as it was. Refuses a way
// out that a sandbox cannot change to.
Result<guard::NetRules> ReplanNetRules(const Policy& first, const Policy& now);

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

// The host's files that hold secrets of the network (net.tls.ca's key, a credential's
// "file:"), to be denied like fs.deny_read, by the key that names them. A region of
// its own keeps such a file from being moved from under what is shown instead.
inline constexpr const char* kCredential = "net.credential";
PathRules SecretFiles(const NetPlan& net);

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

// The file of the authorities that the host trusts; empty where there is none.
std::string TrustSource(const host::PathProbe& probe,
                        const std::map<std::string, std::string>& environment);

// Where the host's authorities are and where the command looks for them: sets
// trust_source and trust_bundle, as far as needed. `unsupported` where one of the
// two could not read them.
Status PlanTrust(const FsPlan& fs, const host::PathProbe& probe,
                 const std::map<std::string, std::string>& environment, NetPlan& net);

// "NAME=value" pairs that lead programs to the proxy, and to the authorities that
// they should trust.
std::map<std::string, std::string> ProxyVariables(const NetPlan& net);

// The value of GIT_SSH_COMMAND: ssh by the proxy, with `program`, which is cordon.
// Empty where ssh needs none, because its connections are captured, and where
// `program` cannot be written into a command as it stands.
std::string SshCommand(const NetPlan& net, const std::string& program);

// May a command inside connect there, and by which rule? Before resolution: an
// allowed name may still resolve to an address that is denied.
Result<Verdict> ExplainConnect(const Policy& policy, const guard::HostPort& target);

}  // namespace cordon::plan
