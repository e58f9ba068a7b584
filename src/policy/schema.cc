#include "policy/schema.h"

#include <algorithm>

namespace cordon::policy {
namespace {

using namespace std::string_view_literals;

// In the order of the enums of cordon/policy.h.
constexpr std::string_view kOnUnavailable[] = {"refuse", "warn"};
constexpr std::string_view kTrust[] = {"auto", "require", "forbid"};
constexpr std::string_view kTemp[] = {"none", "private", "shared"};
constexpr std::string_view kCaches[] = {"none", "private", "host"};
constexpr std::string_view kGit[] = {"protect", "allow-config", "off"};
constexpr std::string_view kNet[] = {"none", "proxy", "public", "open"};
constexpr std::string_view kAddresses[] = {"deny", "allow"};
constexpr std::string_view kEnv[] = {"clean", "inherit"};
constexpr std::string_view kProvider[] = {"direct", "worktree", "overlay", "clone"};
constexpr std::string_view kDenials[] = {"off", "hint", "exact"};
constexpr std::string_view kOnLeak[] = {"terminate", "block", "redact"};

template <auto Get>
constexpr EnumField Enum(std::span<const std::string_view> names) {
  return {names, [](const Policy& policy) { return static_cast<int>(Get(policy)); },
          [](Policy& policy, int value) {
            using Value = std::remove_cvref_t<decltype(Get(policy))>;
            Get(policy) = static_cast<Value>(value);
          }};
}

// Names a member of the policy for reading or writing.
#define CORDON_MEMBER(path) [](auto& policy) -> auto& { return policy.path; }

constexpr PathsField Paths(PathRules& (*get)(Policy&), PathUse use) { return {get, use}; }

constexpr Key kKeys[] = {
    {"version", VersionField{}, "1", "1", "The version of this format."},
    {"preset", PresetField{}, "\"workspace\"", "[\"workspace\", \"public-net\"]",
     "The base that this file extends, or a list of them; the last layer that names one decides."},
    {"on_unavailable", Enum<CORDON_MEMBER(on_unavailable)>(kOnUnavailable), "\"refuse\"",
     "\"warn\"", "What to do when something cannot be enforced at all."},
    {"require", NamesField{CORDON_MEMBER(require), CheckFeature}, "[]", "[\"fs\", \"seccomp\"]",
     "Features that must be fully enforced, whatever `on_unavailable` says."},
    {"trust", Enum<CORDON_MEMBER(trust)>(kTrust), "\"auto\"", "\"require\"",
     "`require`: all of it fully enforced; `forbid`: no sandboxed run at all."},

    {"fs.read", Paths(CORDON_MEMBER(fs.read), PathUse::kLiteral), "[]", "[\"/\"]",
     "Readable roots; a list without \"/\" is an allowlist."},
    {"fs.deny_read", Paths(CORDON_MEMBER(fs.deny_read), PathUse::kPattern), "[]",
     "[\"~/.ssh\", \"**/.env\"]", "Neither readable nor listable; beats `read`."},
    {"fs.allow_read_within_deny",
     Paths(CORDON_MEMBER(fs.allow_read_within_deny), PathUse::kLiteral), "[]",
     "[\"~/.ssh/known_hosts\"]", "Readable again below a wider `deny_read`."},
    {"fs.write", Paths(CORDON_MEMBER(fs.write), PathUse::kLiteral), "[]", "[\".\"]",
     "Writable roots."},
    {"fs.deny_write", Paths(CORDON_MEMBER(fs.deny_write), PathUse::kPattern), "[]",
     "[\"secrets/**\", \"*.lock\"]", "Read-only inside the writable roots; beats `write`."},
    {"fs.deny_new", Paths(CORDON_MEMBER(fs.deny_new), PathUse::kPattern), "[]", "[\"**/.env*\"]",
     "Names that may not be created either."},
    {"fs.data_dir", DataDirField{CORDON_MEMBER(fs.data_dir)}, "", "\"~/.myagent\"",
     "An agent's own state: its `data/` and `config.toml` are out of reach, existing or not."},
    {"fs.temp", Enum<CORDON_MEMBER(fs.temp)>(kTemp), "\"none\"", "\"private\"",
     "What `/tmp` and `/var/tmp` are inside."},
    {"fs.temp_size", AmountField{CORDON_MEMBER(fs.temp_size), Unit::kBytes}, "", "\"1GiB\"",
     "The size of a private `/tmp`."},
    {"fs.caches", Enum<CORDON_MEMBER(fs.caches)>(kCaches), "\"none\"", "\"private\"",
     "Caches of package managers: per workspace and kept, the host's, or none."},
    {"fs.devices", Paths(CORDON_MEMBER(fs.devices), PathUse::kDevice), "[]", "[\"/dev/kvm\"]",
     "Devices beyond the minimal `/dev`."},
    {"fs.git", Enum<CORDON_MEMBER(fs.git)>(kGit), "\"protect\"", "\"allow-config\"",
     "Whether `.git/config` may be written (never hooks), or git is not protected at all."},
    {"fs.scan_depth", NumberField{CORDON_MEMBER(fs.scan_depth), 1, 10}, "5", "3",
     "How many levels deep existing repositories are looked for, 1 to 10."},

    {"net.mode", Enum<CORDON_MEMBER(net.mode)>(kNet), "\"none\"", "\"proxy\"",
     "No network, names of the lists, any public name, or the host's own network."},
    {"net.allow", NamesField{CORDON_MEMBER(net.allow), CheckHost}, "[]",
     "[\"github.com\", \"*.githubusercontent.com\", \"api.example.com:8443\", \"@npm\"]",
     "Names that may be reached in mode `proxy`; no port means 80 and 443; `@name` is a list."},
    {"net.deny", NamesField{CORDON_MEMBER(net.deny), CheckDeniedHost}, "[]",
     "[\"gist.github.com\"]", "Names that may not be reached; beats `allow`."},
    {"net.unix_sockets", Paths(CORDON_MEMBER(net.unix_sockets), PathUse::kLiteral), "[]",
     "[\"~/.ssh/agent.sock\"]", "Host sockets that may be connected to."},
    {"net.unix_sockets_dangerous",
     Paths(CORDON_MEMBER(net.unix_sockets_dangerous), PathUse::kLiteral), "[]",
     "[\"/run/docker.sock\"]",
     "Sockets that are a grant of the host: docker, containerd, systemd, D-Bus."},
    {"net.local_binding", FlagField{CORDON_MEMBER(net.local_binding)}, "false", "true",
     "Listening on other addresses than loopback."},
    {"net.publish", PortsField{CORDON_MEMBER(net.publish)}, "[]", "[3000]",
     "Ports of the sandbox that the host's loopback reaches."},
    {"net.host_ports", PortsField{CORDON_MEMBER(net.host_ports)}, "[]", "[5432]",
     "Ports of the host's loopback that the sandbox reaches."},
    {"net.upstream", UrlField{CORDON_MEMBER(net.upstream)}, "", "\"http://proxy.corp:3128\"",
     "A parent proxy to chain to."},
    {"net.external", ExternalField{}, "", "{ http = 8080, socks = 1080 }",
     "A local proxy to use instead of Cordon's, by ports or `{ command = [...] }`."},
    {"net.private_addresses", Enum<CORDON_MEMBER(net.private_addresses)>(kAddresses), "\"deny\"",
     "\"allow\"", "Whether a name may resolve to a private address."},
    {"net.rule", RulesField{}, "[]",
     "[{ host = \"api.example.com\", methods = [\"GET\"], paths = [\"/v1/**\"] }]",
     "Method and path rules for intercepted or plain HTTP."},
    {"net.credential", CredentialsField{}, "[]",
     "[{ host = \"api.example.com\", header = \"Authorization\", format = \"Bearer {}\", "
     "from = \"env:API_KEY\" }]",
     "Secrets that stay outside: the proxy puts them into requests to their host. `from` is "
     "`env:NAME`, `file:PATH` or `command:LINE`, read on the host."},
    {"net.tls.intercept", NamesField{CORDON_MEMBER(net.tls_intercept), CheckHost}, "[]",
     "[\"api.example.com\"]", "Hosts whose TLS is terminated, with a CA only the sandbox trusts."},
    {"net.tls.ca", AuthorityField{}, "", "{ cert = \"~/ca.pem\", key = \"~/ca.key\" }",
     "A CA of your own to sign for those hosts, instead of one made for the run."},

    {"exec.deny", Paths(CORDON_MEMBER(exec.deny), PathUse::kProgram), "[]", "[\"/usr/bin/sudo\"]",
     "Programs that are not run; hygiene, not a boundary."},
    {"exec.nesting", FlagField{CORDON_MEMBER(exec.nesting)}, "false", "true",
     "Whether the command may make user namespaces itself."},
    {"exec.excluded", NamesField{CORDON_MEMBER(exec.excluded), CheckWord}, "[]",
     "[\"docker\", \"kubectl\"]", "Commands that need to run outside."},
    {"exec.allow_unsandboxed", FlagField{CORDON_MEMBER(exec.allow_unsandboxed)}, "false", "true",
     "Whether an excluded command runs outside instead of being an error."},

    {"env.mode", Enum<CORDON_MEMBER(env.mode)>(kEnv), "\"clean\"", "\"inherit\"",
     "A clean environment or the caller's; dangerous names are dropped in both."},
    {"env.pass", NamesField{CORDON_MEMBER(env.pass), CheckEnvName}, "[]",
     "[\"LANG\", \"CARGO_HOME\"]", "Variables that are passed on."},
    {"env.set", EnvSetField{}, "{}", "{ CI = \"true\" }", "Variables that are set."},

    {"limits.wall", AmountField{CORDON_MEMBER(limits.wall_ms), Unit::kMilliseconds}, "", "\"60s\"",
     "Wall clock time of the run."},
    {"limits.cpu", AmountField{CORDON_MEMBER(limits.cpu_ms), Unit::kMilliseconds}, "", "\"300s\"",
     "Processor time."},
    {"limits.memory", AmountField{CORDON_MEMBER(limits.memory), Unit::kBytes}, "", "\"2GiB\"",
     "Memory of all processes together."},
    {"limits.processes", AmountField{CORDON_MEMBER(limits.processes), Unit::kCount}, "", "256",
     "Processes and threads in the sandbox."},
    {"limits.open_files", AmountField{CORDON_MEMBER(limits.open_files), Unit::kCount}, "", "1024",
     "Open files of one process."},
    {"limits.file_size", AmountField{CORDON_MEMBER(limits.file_size), Unit::kBytes}, "", "\"1GiB\"",
     "Size of one written file."},
    {"limits.output", AmountField{CORDON_MEMBER(limits.output), Unit::kBytes}, "", "\"50kB\"",
     "Output per stream; cut at a character boundary, with a notice."},

    {"workspace.provider", Enum<CORDON_MEMBER(workspace_provider)>(kProvider), "\"direct\"",
     "\"overlay\"", "What the command's changes go to."},
    {"audit.log", FileField{CORDON_MEMBER(audit.log)}, "", "\"~/.local/state/cordon/audit.jsonl\"",
     "The file that every decision is appended to, a line of JSON each."},
    {"audit.denials", Enum<CORDON_MEMBER(audit.denials)>(kDenials), "\"off\"", "\"exact\"",
     "Which denials are recorded: what Cordon itself decides (`off`, `hint`), or the kernel's "
     "too."},
    {"leaks.scan", FlagField{CORDON_MEMBER(leaks.scan)}, "false", "true",
     "Whether output is scanned for secrets."},
    {"leaks.on_leak", Enum<CORDON_MEMBER(leaks.on_leak)>(kOnLeak), "\"terminate\"", "\"redact\"",
     "What happens when one is found."},
};

#undef CORDON_MEMBER

std::string ListOf(std::span<const std::string_view> names, std::string_view separator) {
  std::string joined;
  for (std::string_view name : names) {
    if (!joined.empty()) joined += separator;
    joined += name;
  }
  return joined;
}

// A lambda for each alternative of a variant.
template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

}  // namespace

std::span<const Key> Keys() { return kKeys; }

const Key* FindKey(std::string_view name) {
  auto found = std::find_if(std::begin(kKeys), std::end(kKeys),
                            [&](const Key& key) { return key.name == name; });
  return found == std::end(kKeys) ? nullptr : &*found;
}

bool IsTable(std::string_view name) {
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](const Key& key) {
    return key.name.size() > name.size() && key.name.starts_with(name) &&
           key.name[name.size()] == '.';
  });
}

bool SameValue(const Key& key, const Policy& left, const Policy& right) {
  // The getters return a reference to read or write by; here it is only read.
  auto& a = const_cast<Policy&>(left);
  auto& b = const_cast<Policy&>(right);
  return std::visit(
      Overloaded{[](const VersionField&) { return true; }, [](const PresetField&) { return true; },
                 [&](const EnvSetField&) { return a.env.set == b.env.set; },
                 [&](const ExternalField&) { return a.net.external == b.net.external; },
                 [&](const RulesField&) { return a.net.rules == b.net.rules; },
                 [&](const CredentialsField&) { return a.net.credentials == b.net.credentials; },
                 [&](const AuthorityField&) { return a.net.tls_ca == b.net.tls_ca; },
                 [&](const auto& field) { return field.get(a) == field.get(b); }},
      key.field);
}

std::string TypeName(const Field& field) {
  return std::visit(Overloaded{
                        [](const VersionField&) { return std::string("1"); },
                        [](const PresetField&) { return std::string("name or list of names"); },
                        [](const PathsField& f) {
                          bool globs = f.use == PathUse::kPattern || f.use == PathUse::kProgram;
                          return std::string(globs ? "list of paths and globs" : "list of paths");
                        },
                        [](const DataDirField&) { return std::string("path"); },
                        [](const NamesField& f) {
                          if (f.check == CheckHost || f.check == CheckDeniedHost)
                            return std::string("list of hosts");
                          return std::string("list of names");
                        },
                        [](const EnumField& f) { return ListOf(f.names, ", "); },
                        [](const FlagField&) { return std::string("true or false"); },
                        [](const AmountField& f) {
                          if (f.unit == Unit::kCount) return std::string("number");
                          return std::string(f.unit == Unit::kBytes ? "size" : "duration");
                        },
                        [](const NumberField&) { return std::string("number"); },
                        [](const PortsField&) { return std::string("list of ports"); },
                        [](const UrlField&) { return std::string("URL"); },
                        [](const FileField&) { return std::string("path"); },
                        [](const EnvSetField&) { return std::string("table of strings"); },
                        [](const ExternalField&) { return std::string("table"); },
                        [](const RulesField&) { return std::string("list of tables"); },
                        [](const CredentialsField&) { return std::string("list of tables"); },
                        [](const AuthorityField&) { return std::string("table"); },
                    },
                    field);
}

std::string MarkdownTable() {
  std::string table =
      "| key | value | default | example | meaning |\n| --- | --- | --- | --- | --- |\n";
  auto code = [](std::string_view text) {
    return text.empty() ? std::string("—") : "`" + std::string(text) + "`";
  };
  for (const Key& key : kKeys) {
    table += "| " + code(key.name) + " | " + TypeName(key.field) + " | " + code(key.fallback) +
             " | " + code(key.example) + " | " + std::string(key.doc) + " |\n";
  }
  return table;
}

}  // namespace cordon::policy
