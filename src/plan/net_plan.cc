#include "plan/net_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "policy/host_lists.h"

namespace cordon::plan {
namespace {

// Where Debian and its like keep what Java trusts; their JVMs lead here.
constexpr std::string_view kJavaStore = "/etc/ssl/certs/java/cacerts";
// Debian and most others, Fedora and RHEL, SUSE, Alpine.
constexpr std::string_view kBundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                         "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

using guard::HostPattern;
using guard::PatternUse;

Status Append(const Entry& entry, PatternUse use, std::vector<HostPattern>& patterns) {
  CORDON_ASSIGN_OR_RETURN(std::vector<std::string> hosts, policy::ExpandHosts(entry.text));
  std::string place = entry.origin.ToString();
  bool list = entry.text.starts_with('@');
  for (const std::string& host : hosts) {
    // None of a list is too wide (see their tests), and asking takes long.
    CORDON_ASSIGN_OR_RETURN(HostPattern pattern,
                            guard::ParseHostPattern(host, list ? PatternUse::kDeny : use));
    pattern.origin = list ? entry.text + ", " + place : place;
    patterns.push_back(std::move(pattern));
  }
  return {};
}

Result<std::vector<HostPattern>> Patterns(const Entries& entries, PatternUse use,
                                          std::string_view key) {
  std::vector<HostPattern> patterns;
  for (const Entry& entry : entries) {
    Status appended = Append(entry, use, patterns);
    if (appended) continue;
    Error error = std::move(appended).error();
    return std::move(error).Within(entry.origin.ToString() + ": " + std::string(key));
  }
  return patterns;
}

Status CheckSupported(const NetPolicy& net) {
  bool proxied = net.mode == NetMode::kProxy || net.mode == NetMode::kPublic;
  auto needs_proxy = [](const char* key) {
    return base::InvalidArgument(Reason::kPolicyBadValue,
                                 std::string(key) + " needs net.mode \"proxy\" or \"public\"");
  };
  if (!proxied && net.external) return needs_proxy("net.external");
  if (!proxied && !net.rules.empty()) return needs_proxy("net.rule");
  bool ours = proxied && !net.external;
  if (!ours && !net.tls_intercept.empty()) return needs_proxy("net.tls.intercept");
  if (!ours && !net.credentials.empty()) return needs_proxy("net.credential");
  bool open = net.mode == NetMode::kOpen;
  if (open && !net.deny.empty()) return needs_proxy("net.deny");
  if (open && !net.publish.empty()) return needs_proxy("net.publish");
  return {};
}

// Whoever may speak to these is master of the host, or of the user's session.
bool IsGrantOfTheHost(std::string_view path) {
  constexpr std::array<std::string_view, 14> kNames = {
      "docker.sock",  "docker-raw.sock",   "containerd.sock",
      "podman.sock",  "crio.sock",         "buildkitd.sock",
      "bus",          "system_bus_socket", "private",
      "io.systemd.",  "libvirt-sock",      "lxd.socket",
      "incus.socket", "snapd.socket"};
  std::string_view name = guard::BaseName(path);
  return std::ranges::any_of(kNames,
                             [&](std::string_view known) {
                               return name == known ||
                                      (known.ends_with('.') && name.starts_with(known));
                             }) ||
         path.find("/systemd/") != std::string_view::npos ||
         path.find("/dbus") != std::string_view::npos;
}

Status AddSockets(const PathRules& rules, const host::PathProbe& probe, std::string_view key,
                  std::vector<SocketGrant>& sockets) {
  for (const PathRule& rule : rules) {
    host::PathInfo info = probe.Inspect(rule.path);
    std::string place = rule.origin.ToString() + ": " + std::string(key);
    if (!info.exists()) {
      if (rule.optional) continue;
      return base::InvalidArgument(Reason::kPolicyPathMissing,
                                   place + ": " + base::Printable(rule.path) + " does not exist",
                                   "write \"?" + rule.path + "\" if it may be missing");
    }
    if (info.type != host::FileType::kSocket) {
      return base::InvalidArgument(Reason::kPolicyBadValue,
                                   place + ": " + base::Printable(rule.path) + " is not a socket");
    }
    if (key == "net.unix_sockets" && IsGrantOfTheHost(info.canonical)) {
      return base::InvalidArgument(
          Reason::kPolicyBadValue,
          place + ": " + base::Printable(rule.path) + " is a way to all of the host",
          "list it under net.unix_sockets_dangerous if that is meant");
    }
    sockets.push_back({info.canonical, info.device, info.inode});
  }
  return {};
}

void AddOnce(int port, std::vector<int>& ports) {
  if (port != 0 && std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
}

// A port inside has one use.
Error Clash(int port, const char* with) {
  return base::InvalidArgument(Reason::kPolicyBadValue, "net.host_ports: " + std::to_string(port) +
                                                            " inside is already " + with);
}

Status CheckPorts(const NetPlan& net) {
  bool ours = net.proxied() && !net.external;
  for (int port : net.host_ports) {
    if (ours && port == kProxyPort) return Clash(port, "the proxy's");
    if (ours && port == kDnsPort) return Clash(port, "the name server's");
    // It would lead to the host and back without end.
    bool published = std::ranges::find(net.publish, port) != net.publish.end();
    if (published) return Clash(port, "the server's that net.publish is for");
  }
  return {};
}

Status AddExternal(ExternalProxy external, NetPlan& net) {
  if (!external.command.empty()) {
    // Its port outside is known once it runs; inside it is where ours would be.
    external.http = kProxyPort;
    bool taken = std::ranges::find(net.host_ports, kProxyPort) != net.host_ports.end();
    if (taken) return Clash(kProxyPort, "the proxy's");
  }
  AddOnce(external.http, net.host_ports);
  AddOnce(external.socks, net.host_ports);
  net.external = std::move(external);
  return {};
}

std::string Variable(const std::map<std::string, std::string>& environment,
                     std::initializer_list<const char*> names) {
  for (const char* name : names) {
    auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
  }
  return {};
}

}  // namespace

Result<guard::NetRules> ResolveNetRules(const Policy& policy) {
  guard::NetRules rules;
  rules.mode = policy.net.mode;
  rules.private_addresses = policy.net.private_addresses;
  rules.http_rules = policy.net.rules;
  CORDON_ASSIGN_OR_RETURN(rules.allow, Patterns(policy.net.allow, PatternUse::kAllow, "net.allow"));
  CORDON_ASSIGN_OR_RETURN(rules.deny, Patterns(policy.net.deny, PatternUse::kDeny, "net.deny"));
  Entries intercept = policy.net.tls_intercept;
  for (const Credential& one : policy.net.credentials) {
    intercept.push_back({one.host, {"net.credential", 0}});
  }
  CORDON_ASSIGN_OR_RETURN(rules.intercept,
                          Patterns(intercept, PatternUse::kAllow, "net.tls.intercept"));
  return rules;
}

Result<guard::NetRules> ReplanNetRules(const Policy& first, const Policy& now) {
  bool other_way = now.net.mode == NetMode::kOpen || now.net.external;
  if (other_way) {
    return base::Unsupported("net.mode = \"open\" and net.external are for a run from its start",
                             "start another run");
  }
  CORDON_ASSIGN_OR_RETURN(guard::NetRules rules, ResolveNetRules(now));
  CORDON_ASSIGN_OR_RETURN(guard::NetRules before, ResolveNetRules(first));
  rules.intercept = std::move(before.intercept);
  if (rules.mode == NetMode::kNone) {
    rules.mode = NetMode::kProxy;
    rules.allow.clear();
  }
  return rules;
}

Parent ParentOf(const NetPolicy& policy, const std::map<std::string, std::string>& environment) {
  Parent parent{policy.upstream, Variable(environment, {"no_proxy", "NO_PROXY"})};
  if (parent.upstream.empty()) {
    parent.upstream = Variable(environment, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                                             "http_proxy", "HTTP_PROXY"});
  }
  return parent;
}

Result<NetPlan> PlanNet(const NetInputs& in) {
  const NetPolicy& policy = in.policy.net;
  CORDON_TRY(CheckSupported(policy));
  NetPlan net;
  net.mode = policy.mode;
  net.ipv6 = in.ipv6;
  net.proxy_port = in.proxy_port;
  for (int port : policy.publish) AddOnce(port, net.publish);
  // On the host's own network its ports are reached as they are.
  if (net.own_namespace()) {
    for (int port : policy.host_ports) AddOnce(port, net.host_ports);
  }
  CORDON_TRY(AddSockets(policy.unix_sockets, in.probe, "net.unix_sockets", net.unix_sockets));
  CORDON_TRY(AddSockets(policy.unix_sockets_dangerous, in.probe, "net.unix_sockets_dangerous",
                        net.unix_sockets));
  if (net.proxied() && policy.external) CORDON_TRY(AddExternal(*policy.external, net));
  CORDON_TRY(CheckPorts(net));
  if (!net.proxied() || net.external) return net;
  CORDON_ASSIGN_OR_RETURN(net.rules, ResolveNetRules(in.policy));
  net.tls_ca = policy.tls_ca;
  net.credentials = policy.credentials;
  net.ports = guard::AllowedPorts(net.rules);
  std::erase_if(net.ports, [&](int port) {
    return port == kProxyPort || port == kDnsPort ||
           std::ranges::find(net.host_ports, port) != net.host_ports.end();
  });
  if (net.ports.size() > kMostPorts) {
    return base::InvalidArgument(Reason::kPolicyBadValue,
                                 "net.allow names " + std::to_string(net.ports.size()) +
                                     " ports; at most " + std::to_string(kMostPorts) + " can be");
  }
  Parent parent = ParentOf(policy, in.environment);
  net.upstream = std::move(parent.upstream);
  net.no_proxy = std::move(parent.no_proxy);
  return net;
}

PathRules SecretFiles(const NetPlan& net) {
  PathRules files;
  auto add = [&](std::string path, const char* key) {
    files.push_back({std::move(path), /*glob=*/false, /*optional=*/true, {key, 0}});
  };
  // Whoever has the key is the authority.
  if (net.tls_ca) add(net.tls_ca->key, "net.tls.ca");
  for (const Credential& credential : net.credentials) {
    constexpr std::string_view kFile = "file:";
    if (credential.from.starts_with(kFile)) add(credential.from.substr(kFile.size()), kCredential);
  }
  return files;
}

std::vector<PrivateFile> NameServiceFiles(const NetPlan& net, const FsPlan& fs,
                                          const host::PathProbe& probe,
                                          const std::string& hostname) {
  if (!net.proxied()) return {};
  std::string hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  if (!hostname.empty()) hosts += "127.0.1.1 " + hostname + "\n";
  const std::pair<const char*, std::string> wanted[] = {
      {"/etc/resolv.conf", "nameserver 127.0.0.1\n"},
      {"/etc/hosts", hosts},
      {"/etc/nsswitch.conf",
       "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
       "protocols: files\nservices: files\n"}};
  std::vector<PrivateFile> files;
  for (const auto& [path, text] : wanted) {
    host::PathInfo info = probe.Inspect(path);
    bool seen =
        info.type == host::FileType::kRegular && Decide(fs, Access::kRead, info.canonical).allowed;
    // Without the file a resolver asks 127.0.0.1, which is what it would say.
    if (seen) files.push_back({info.canonical, text});
  }
  return files;
}

std::string TrustSource(const host::PathProbe& probe,
                        const std::map<std::string, std::string>& environment) {
  std::string named = Variable(environment, {"SSL_CERT_FILE"});
  if (!named.empty()) return named;
  for (std::string_view path : kBundles) {
    host::PathInfo info = probe.Inspect(std::string(path));
    if (info.type == host::FileType::kRegular) return info.canonical;
  }
  return {};
}

Status PlanTrust(const FsPlan& fs, const host::PathProbe& probe,
                 const std::map<std::string, std::string>& environment, NetPlan& net) {
  if (!net.needs_tls()) return {};
  net.trust_source = TrustSource(probe, environment);
  if (net.trust_source.empty()) {
    return base::Unsupported("TLS of the proxy: this host has no bundle of certificate authorities",
                             "install ca-certificates, or name one by SSL_CERT_FILE");
  }
  if (!net.intercepts()) return {};
  auto seen_inside = [&](std::string_view path) {
    host::PathInfo info = probe.Inspect(std::string(path));
    bool seen =
        info.type == host::FileType::kRegular && Decide(fs, Access::kRead, info.canonical).allowed;
    return seen ? info.canonical : std::string();
  };
  net.trust_store = seen_inside(kJavaStore);
  for (std::string_view path : kBundles) {
    net.trust_bundle = seen_inside(path);
    if (!net.trust_bundle.empty()) return {};
  }
  return base::Unsupported(
      "net.tls.intercept: no bundle of certificate authorities can be read inside",
      "install ca-certificates, and let fs.read hold /etc/ssl");
}

std::map<std::string, std::string> ProxyVariables(const NetPlan& net) {
  if (!net.proxied()) return {};
  int http = net.external ? net.external->http : net.proxy_port;
  int socks = net.external ? net.external->socks : net.proxy_port;
  std::map<std::string, std::string> variables;
  if (!net.trust_bundle.empty()) {
    for (const char* name : {"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
                             "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
                             "AWS_CA_BUNDLE", "PIP_CERT", "DENO_CERT", "NIX_SSL_CERT_FILE"}) {
      variables[name] = net.trust_bundle;
    }
  }
  auto both_cases = [&](std::string name, const std::string& value) {
    variables[name] = value;
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    variables[name] = value;
  };
  both_cases("NO_PROXY", "localhost,.localhost,127.0.0.1,127.0.0.0/8,0.0.0.0,::1");
  if (socks != 0) both_cases("ALL_PROXY", "socks5h://127.0.0.1:" + std::to_string(socks));
  if (http == 0) return variables;
  std::string port = std::to_string(http), url = "http://127.0.0.1:" + port;
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "GRPC_PROXY"}) {
    both_cases(name, url);
  }
  both_cases("RSYNC_PROXY", "127.0.0.1:" + port);
  for (const char* name : {"DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY", "PIP_PROXY",
                           "npm_config_proxy", "npm_config_https_proxy", "CARGO_HTTP_PROXY"}) {
    variables[name] = url;
  }
  variables["CLOUDSDK_PROXY_TYPE"] = "http";
  variables["CLOUDSDK_PROXY_ADDRESS"] = "127.0.0.1";
  variables["CLOUDSDK_PROXY_PORT"] = port;
  variables["NODE_USE_ENV_PROXY"] = "1";
  variables["JAVA_TOOL_OPTIONS"] = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=" + port +
                                   " -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=" + port +
                                   " -Dhttp.nonProxyHosts=localhost|127.*|0.0.0.0|[::1]";
  return variables;
}

std::string SshCommand(const NetPlan& net, const std::string& program) {
  bool plain =
      program.starts_with('/') && std::ranges::all_of(program, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '/' || c == '.' || c == '_' || c == '-' || c == '+';
      });
  if (!net.proxied() || net.captures() || !plain) return {};
  return "ssh -o ProxyCommand='" + program + " connect %h %p'";
}

}  // namespace cordon::plan
