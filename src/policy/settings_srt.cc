// srt's ~/.srt-settings.json, and the part of Claude Code's settings that is
// made of the same words.
//
//   read   all but denyRead; allowRead opens again what a wider denyRead closed
//   write  nothing but allowWrite; denyWrite beats it
//   net    nothing but allowedDomains; deniedDomains beats it
#include <algorithm>

#include "guard/path.h"
#include "policy/settings_builder.h"

namespace cordon::policy {
namespace {

constexpr std::string_view kHostSockets[] = {"docker",  "containerd", "podman", "crio",
                                             "systemd", "bus",        "dbus",   "libvirt"};

bool GrantsTheHost(std::string_view path) {
  std::string_view name = guard::BaseName(path);
  return std::ranges::any_of(kHostSockets, [&](auto word) { return name.find(word) != name.npos; });
}

void AddSocket(SettingsBuilder& builder, const Said& socket, const std::string& key) {
  if (GrantsTheHost(socket.text)) {
    builder.Lost(socket.line, key,
                 "\"" + socket.text +
                     "\" is a grant of the host; net.unix_sockets_dangerous takes it by name");
  } else {
    builder.AddPath("net.unix_sockets", socket, ".", key);
  }
}

Status ReadProxies(SettingsBuilder& builder, Section& network) {
  Node external;
  for (auto [theirs, ours] : {std::pair("httpProxyPort", "http"), {"socksProxyPort", "socks"}}) {
    CORDON_ASSIGN_OR_RETURN(auto port, network.Number(theirs, 1, 65535));
    if (!port) continue;
    int line = network.LineOf(theirs);
    external.line = line;
    external.members.emplace_back(
        ours, Node{.kind = Node::Kind::kInteger, .line = line, .integer = *port});
  }
  if (!external.members.empty()) builder.SetNode("net.external", std::move(external));
  CORDON_ASSIGN_OR_RETURN(Section parent, network.Table("parentProxy"));
  CORDON_ASSIGN_OR_RETURN(auto http, parent.Text("http"));
  CORDON_ASSIGN_OR_RETURN(auto https, parent.Text("https"));
  const auto& url = https ? https : http;
  if (url) builder.Set("net.upstream", url->text, url->line);
  if (http && https && http->text != https->text) {
    builder.Lost(http->line, parent.Name("http"), "one parent proxy is for both here");
  }
  parent.Rest("cannot be said here");
  return {};
}

// "*:22" leaves out what is allowed on that port: others than 80 and 443 are
// reached only where an entry names them.
Result<std::string> DeniedPort(SettingsBuilder& builder, const Said& host, std::string_view key) {
  std::string port = host.text.substr(1);
  if (!ParsePort(port.substr(1)) || port == ":80" || port == ":443") {
    return builder.Refuse(host.line, key, "\"" + host.text + "\" cannot be said here");
  }
  return port;
}

Status ReadDomains(SettingsBuilder& builder, Section& network) {
  const std::string denied_key = network.Name("deniedDomains");
  std::vector<std::string> denied_ports;
  CORDON_ASSIGN_OR_RETURN(auto denied, network.Texts("deniedDomains"));
  for (const Said& host : denied) {
    if (host.text == "*") {
      builder.Set("net.mode", "none", host.line);
    } else if (host.text.starts_with("*:")) {
      CORDON_ASSIGN_OR_RETURN(std::string port, DeniedPort(builder, host, denied_key));
      denied_ports.push_back(std::move(port));
    } else {
      CORDON_TRY(builder.AddDeniedHost(host, denied_key));
    }
  }
  CORDON_ASSIGN_OR_RETURN(auto allowed, network.Texts("allowedDomains"));
  bool any_port = false;
  for (const Said& host : allowed) {
    auto ends = [&](const std::string& port) { return host.text.ends_with(port); };
    if (std::ranges::any_of(denied_ports, ends)) continue;
    builder.AddHost(host, network.Name("allowedDomains"));
    any_port = any_port || host.text.find(':') == std::string::npos;
  }
  if (any_port) {
    builder.Elsewhere(network.LineOf("allowedDomains"), network.Name("allowedDomains"),
                      "a name without a port is meant for 80 and 443 here; ssh needs \"name:22\"");
  }
  return {};
}

// The environment is passed on whole, but for what is declared a secret.
Status ReadSecretVariables(SettingsBuilder& builder, Section& credentials) {
  CORDON_ASSIGN_OR_RETURN(auto variables, credentials.Tables("envVars"));
  std::vector<std::string> secret;
  for (Section& variable : variables) {
    CORDON_ASSIGN_OR_RETURN(auto name, variable.Text("name"));
    CORDON_ASSIGN_OR_RETURN(auto mode, variable.Word("mode", {"deny", "mask"}));
    if (name) secret.push_back(name->text);
    if (name && mode && mode->text == "mask") {
      builder.Lost(name->line, variable.Name("mode"),
                   "\"mask\" is \"deny\" here: [[net.credential]] puts " + name->text +
                       " into requests instead");
    }
    variable.Elsewhere("injectHosts", "see [[net.credential]]");
    variable.Rest("not known");
  }
  if (secret.empty()) return {};
  builder.PassVariables(
      [&](const std::string& name) { return std::ranges::find(secret, name) == secret.end(); });
  builder.Elsewhere(credentials.LineOf("envVars"), credentials.Name("envVars"),
                    "env.pass lists what is in the environment now, without these");
  return {};
}

Status ReadSecretFiles(SettingsBuilder& builder, Section& credentials) {
  CORDON_ASSIGN_OR_RETURN(auto files, credentials.Tables("files"));
  for (Section& file : files) {
    CORDON_ASSIGN_OR_RETURN(auto path, file.Text("path"));
    CORDON_ASSIGN_OR_RETURN(auto mode, file.Word("mode", {"deny", "mask"}));
    if (path) CORDON_TRY(builder.AddDeniedPath("fs.deny_read", *path, ".", file.Name("path")));
    if (path && mode && mode->text == "mask") {
      builder.Lost(path->line, file.Name("mode"), "\"mask\" is \"deny\" here");
    }
    file.Rest("cannot be said here");
  }
  return {};
}

}  // namespace

Status ReadSrtNetwork(SettingsBuilder& builder, Section network) {
  builder.Set("net.mode", "proxy");
  CORDON_TRY(ReadDomains(builder, network));
  CORDON_ASSIGN_OR_RETURN(auto sockets, network.Texts("allowUnixSockets"));
  for (const Said& socket : sockets) AddSocket(builder, socket, network.Name("allowUnixSockets"));
  CORDON_ASSIGN_OR_RETURN(auto all_sockets, network.Flag("allowAllUnixSockets"));
  if (all_sockets.value_or(false)) {
    builder.Lost(network.LineOf("allowAllUnixSockets"), network.Name("allowAllUnixSockets"),
                 "every socket is not to be had; name them in net.unix_sockets");
  }
  CORDON_ASSIGN_OR_RETURN(auto binding, network.Flag("allowLocalBinding"));
  if (binding.value_or(false)) {
    builder.Elsewhere(network.LineOf("allowLocalBinding"), network.Name("allowLocalBinding"),
                      "loopback inside is always there; net.publish shows a port to the host, "
                      "net.host_ports one of the host inside");
  }
  CORDON_TRY(ReadProxies(builder, network));
  network.Elsewhere("deniedDomainReasons", "a denial says its own rule");
  network.Elsewhere("allowMachLookup", "macOS");
  network.Elsewhere("strictAllowlist", "always so: nobody is asked");
  network.Elsewhere("allowManagedDomainsOnly", "/etc/cordon/policy.toml is what nobody can widen");
  network.Rest("cannot be said here");
  return {};
}

Status ReadSrtFilesystem(SettingsBuilder& builder, Section& filesystem, const std::string& base) {
  CORDON_ASSIGN_OR_RETURN(auto denied, filesystem.Texts("denyRead"));
  for (const Said& path : denied) {
    CORDON_TRY(builder.AddDeniedPath("fs.deny_read", path, base, filesystem.Name("denyRead")));
  }
  CORDON_ASSIGN_OR_RETURN(auto opened, filesystem.Texts("allowRead"));
  for (const Said& path : opened) {
    std::string ours =
        builder.AddPath("fs.allow_read_within_deny", path, base, filesystem.Name("allowRead"));
    // There it wins over a denyRead of the same path; of two alike ours denies.
    builder.Remove("fs.deny_read", ours);
  }
  CORDON_ASSIGN_OR_RETURN(auto written, filesystem.Texts("allowWrite"));
  for (const Said& path : written) {
    std::string ours = builder.AddPath("fs.write", path, base, filesystem.Name("allowWrite"));
    if (ours == "/") builder.Set("fs.temp", "shared", path.line);
  }
  CORDON_ASSIGN_OR_RETURN(auto kept, filesystem.Texts("denyWrite"));
  for (const Said& path : kept) {
    CORDON_TRY(builder.AddDeniedPath("fs.deny_write", path, base, filesystem.Name("denyWrite")));
  }
  CORDON_ASSIGN_OR_RETURN(auto git, filesystem.Flag("allowGitConfig"));
  if (git.value_or(false)) {
    builder.Set("fs.git", "allow-config", filesystem.LineOf("allowGitConfig"));
  }
  filesystem.Elsewhere("allowManagedReadPathsOnly",
                       "/etc/cordon/policy.toml is what nobody can widen");
  filesystem.Rest("cannot be said here");
  return {};
}

Status ReadSrtSwitches(SettingsBuilder& builder, Section& section) {
  for (auto [key, why] :
       {std::pair("enableWeakerNestedSandbox",
                  "nothing is made weaker: inside a container the landlock tier enforces the same"),
        std::pair("enableWeakerNetworkIsolation",
                  "nothing is made weaker: it would let a command reach trustd on macOS"),
        std::pair("allowAppleEvents",
                  "nothing is made weaker: it would let a command start programs on macOS")}) {
    CORDON_ASSIGN_OR_RETURN(auto on, section.Flag(key));
    if (on.value_or(false)) builder.Lost(section.LineOf(key), section.Name(key), why);
  }
  CORDON_ASSIGN_OR_RETURN(Section credentials, section.Table("credentials"));
  CORDON_TRY(ReadSecretFiles(builder, credentials));
  CORDON_TRY(ReadSecretVariables(builder, credentials));
  credentials.Rest("cannot be said here");
  CORDON_ASSIGN_OR_RETURN(auto depth, section.Number("mandatoryDenySearchDepth", 1, 10));
  if (depth) {
    builder.SetNumber("fs.scan_depth", *depth, section.LineOf("mandatoryDenySearchDepth"));
  }
  section.Elsewhere("ignoreViolations", "it is about reports, not about access");
  section.Elsewhere("allowPty", "a command on a terminal has one of its own");
  for (const char* key : {"ripgrep", "seccomp", "bwrapPath", "socatPath", "javaAgentJarPath",
                          "binShell", "windows"}) {
    section.Elsewhere(key, "Cordon needs no such helper");
  }
  return {};
}

Status ReadSrt(SettingsBuilder& builder, const Node& root) {
  builder.Set("preset", "bare");
  Section top(builder, &root, "");
  CORDON_ASSIGN_OR_RETURN(Section network, top.Table("network"));
  CORDON_TRY(ReadSrtNetwork(builder, std::move(network)));
  CORDON_ASSIGN_OR_RETURN(Section filesystem, top.Table("filesystem"));
  CORDON_TRY(ReadSrtFilesystem(builder, filesystem, "."));
  CORDON_TRY(ReadSrtSwitches(builder, top));
  top.Rest("not known");
  return {};
}

}  // namespace cordon::policy
