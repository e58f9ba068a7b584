// What a sandboxed command may do. A default-constructed Policy allows
// nothing. A Policy is a value: copy it, compare it, compose it, print it.
//
//   Result<Policy> base = Preset("workspace", context);
//   Result<Policy> mine = ReadPolicyFile("policy.toml", context, *base);
//   Policy child = Compose(*mine, theirs);   // never wider than either
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cordon/result.h"

namespace cordon {

// Where a value was said: a file and line, "preset workspace" or
// "flag --read". `line` is 0 where there is none.
struct Origin {
  std::string source;
  int line = 0;
  std::string ToString() const;  // "policy.toml:12", "preset strict:4", "flag --read"
};

// One element of a list, with where it came from. Two entries are equal when
// their texts are: the place does not change the meaning.
struct Entry {
  std::string text;
  Origin origin;
  bool operator==(const Entry& other) const { return text == other.text; }
  auto operator<=>(const Entry& other) const { return text <=> other.text; }
};
using Entries = std::vector<Entry>;

// A path or glob of the policy, expanded when read: `~` and `$VAR` are
// replaced and a relative path is joined to the workspace. A pattern without
// a slash becomes "<workspace>/**/<pattern>", one with a slash is relative to the workspace.
struct PathRule {
  std::string path;  // absolute; may hold *, ?, [...], ** when `glob`
  bool glob = false;
  bool optional = false;  // written "?/path": may be missing
  Origin origin;
  bool operator==(const PathRule& o) const { return path == o.path && glob == o.glob; }
  auto operator<=>(const PathRule& o) const { return path <=> o.path; }
};
using PathRules = std::vector<PathRule>;

// The zero value of every enum is the strictest one.
enum class OnUnavailable { kRefuse, kWarn };
enum class Trust { kAuto, kRequire, kForbid };
enum class TempMode { kNone, kPrivate, kShared };
enum class CacheMode { kNone, kPrivate, kHost };
enum class GitMode { kProtect, kAllowConfig, kOff };
enum class NetMode { kNone, kProxy, kPublic, kOpen };
enum class AddressMode { kDeny, kAllow };
enum class EnvMode { kClean, kInherit };
enum class WorkspaceProvider { kDirect, kWorktree, kOverlay, kClone };
enum class DenialDetail { kOff, kHint, kExact };
enum class OnLeak { kTerminate, kBlock, kRedact };

struct FsPolicy {
  PathRules read;
  PathRules deny_read;
  PathRules allow_read_within_deny;
  PathRules write;
  PathRules deny_write;
  PathRules deny_new;
  std::optional<PathRule> data_dir;
  TempMode temp = TempMode::kNone;
  std::optional<uint64_t> temp_size;  // bytes
  CacheMode caches = CacheMode::kNone;
  PathRules devices;
  GitMode git = GitMode::kProtect;
  int scan_depth = 5;  // 1 to 10
  bool operator==(const FsPolicy&) const = default;
};

struct ExternalProxy {
  int http = 0;
  int socks = 0;
  std::vector<std::string> command;
  bool operator==(const ExternalProxy&) const = default;
};

struct HttpRule {
  std::string host;
  std::vector<std::string> methods;
  std::vector<std::string> paths;
  bool operator==(const HttpRule&) const = default;
};

// Files of a certificate authority of the user's own.
struct TlsAuthority {
  std::string cert;
  std::string key;
  bool operator==(const TlsAuthority&) const = default;
};

// A secret that stays outside: the proxy puts it into requests to the host.
struct Credential {
  std::string host;    // a name or pattern
  std::string header;  // "Authorization"
  std::string format;  // what the header is when the request has none: "Bearer {}"
  std::string from;    // "env:NAME", "file:/path", "command:…": where the value is
  bool operator==(const Credential&) const = default;
  auto operator<=>(const Credential&) const = default;
};

struct NetPolicy {
  NetMode mode = NetMode::kNone;
  Entries allow;
  Entries deny;
  PathRules unix_sockets;
  PathRules unix_sockets_dangerous;
  bool local_binding = false;
  std::vector<int> publish;
  std::vector<int> host_ports;
  std::string upstream;
  std::optional<ExternalProxy> external;
  AddressMode private_addresses = AddressMode::kDeny;
  Entries tls_intercept;
  std::optional<TlsAuthority> tls_ca;
  std::vector<Credential> credentials;
  std::vector<HttpRule> rules;
  bool operator==(const NetPolicy&) const = default;
};

struct ExecPolicy {
  PathRules deny;
  bool nesting = false;
  Entries excluded;
  bool allow_unsandboxed = false;
  bool operator==(const ExecPolicy&) const = default;
};

struct EnvPolicy {
  EnvMode mode = EnvMode::kClean;
  Entries pass;
  std::map<std::string, std::string> set;
  bool operator==(const EnvPolicy&) const = default;
};

// Absent means unlimited.
struct LimitPolicy {
  std::optional<uint64_t> wall_ms;
  std::optional<uint64_t> cpu_ms;
  std::optional<uint64_t> memory;  // bytes
  std::optional<uint64_t> processes;
  std::optional<uint64_t> open_files;
  std::optional<uint64_t> file_size;  // bytes
  std::optional<uint64_t> output;     // bytes per stream
  bool operator==(const LimitPolicy&) const = default;
};

struct AuditPolicy {
  std::string log;
  DenialDetail denials = DenialDetail::kOff;
  bool operator==(const AuditPolicy&) const = default;
};

struct LeakPolicy {
  bool scan = false;
  OnLeak on_leak = OnLeak::kTerminate;
  bool operator==(const LeakPolicy&) const = default;
};

struct Policy {
  OnUnavailable on_unavailable = OnUnavailable::kRefuse;
  Entries require;  // feature or group names
  Trust trust = Trust::kAuto;
  FsPolicy fs;
  NetPolicy net;
  ExecPolicy exec;
  EnvPolicy env;
  LimitPolicy limits;
  WorkspaceProvider workspace_provider = WorkspaceProvider::kDirect;
  AuditPolicy audit;
  LeakPolicy leaks;

  // Where each scalar was last set, by dotted key ("net.mode"). Not part of
  // the meaning: equality ignores it.
  struct Origins : std::map<std::string, Origin> {
    bool operator==(const Origins&) const { return true; }
  } origins;

  bool operator==(const Policy&) const = default;
};

}  // namespace cordon
