#include "policy/compose.h"

#include <algorithm>
#include <iterator>

#include "guard/path.h"
#include "policy/host_pattern.h"
#include "policy/schema.h"

namespace cordon::policy {
namespace {

template <typename T>
void SortUnique(std::vector<T>& list) {
  std::stable_sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

template <typename T>
std::vector<T> Unite(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  SortUnique(a);
  return a;
}

template <typename T>
std::vector<T> IntersectEqual(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> both;
  std::copy_if(a.begin(), a.end(), std::back_inserter(both),
               [&](const T& value) { return std::find(b.begin(), b.end(), value) != b.end(); });
  SortUnique(both);
  return both;
}

template <typename T>
T Stricter(T a, T b) {
  return std::min(a, b);
}

std::optional<uint64_t> Smaller(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Drops a path that lies inside another of the list. Paths only: which glob
// implies which is not decided here.
void DropImplied(PathRules& rules) {
  SortUnique(rules);
  PathRules kept;
  for (const PathRule& rule : rules) {
    bool implied =
        !rule.glob && std::any_of(rules.begin(), rules.end(), [&](const PathRule& other) {
          return !other.glob && other.path != rule.path && guard::IsInside(rule.path, other.path);
        });
    if (!implied) kept.push_back(rule);
  }
  rules = std::move(kept);
}

PathRules IntersectRoots(const PathRules& a, const PathRules& b) {
  PathRules both;
  for (const PathRule& left : a) {
    for (const PathRule& right : b) {
      if (guard::IsInside(left.path, right.path)) {
        both.push_back(left);
      } else if (guard::IsInside(right.path, left.path)) {
        both.push_back(right);
      }
    }
  }
  DropImplied(both);
  return both;
}

PathRules UniteDenies(const PathRules& a, const PathRules& b) { return Unite(a, b); }

size_t Depth(std::string_view path) {
  return path == "/" ? 0 : static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
}

// How closely a rule holds a path: the depth of the deepest ancestor (or the
// path itself) that it names, and whether it names it literally.
struct Hold {
  size_t depth = 0;
  int literal = 0;
  auto operator<=>(const Hold&) const = default;
};

std::optional<Hold> HoldOf(const PathRule& rule, std::string_view path) {
  if (!rule.glob) {
    if (!guard::IsInside(path, rule.path)) return std::nullopt;
    return Hold{Depth(rule.path), 1};
  }
  for (std::string_view at = path;; at = guard::Parent(at)) {
    if (guard::GlobMatch(rule.path, at)) return Hold{Depth(at), 0};
    if (at == "/") return std::nullopt;
  }
}

std::optional<Hold> Closest(const PathRules& rules, std::string_view path) {
  std::optional<Hold> closest;
  for (const PathRule& rule : rules) {
    auto hold = HoldOf(rule, path);
    if (hold && (!closest || *hold > *closest)) closest = hold;
  }
  return closest;
}

// An exception of one side stays if the other would let it be read: what that
// other denies at or above it, it has itself excepted; what it denies below
// stays denied, being narrower.
PathRules IntersectExceptions(const FsPolicy& a, const FsPolicy& b) {
  PathRules kept;
  for (const PathRule& rule : Unite(a.allow_read_within_deny, b.allow_read_within_deny)) {
    if (LeftReadable(a, rule.path) && LeftReadable(b, rule.path)) kept.push_back(rule);
  }
  return kept;
}

// A Policy holds one data_dir. A second one becomes plain denies.
void DenyDataDir(const PathRule& dir, FsPolicy& fs) {
  for (const char* name : {"data", "config.toml"}) {
    PathRule rule{.path = guard::JoinPath(dir.path, name), .optional = true, .origin = dir.origin};
    for (PathRules* list : {&fs.deny_read, &fs.deny_write, &fs.deny_new}) list->push_back(rule);
    std::erase_if(fs.allow_read_within_deny, [&](const PathRule& exception) {
      return guard::IsInside(exception.path, rule.path);
    });
  }
}

FsPolicy ComposeFs(const FsPolicy& a, const FsPolicy& b) {
  FsPolicy fs;
  fs.read = IntersectRoots(a.read, b.read);
  fs.write = IntersectRoots(a.write, b.write);
  fs.devices = IntersectRoots(a.devices, b.devices);
  fs.deny_read = UniteDenies(a.deny_read, b.deny_read);
  fs.deny_write = UniteDenies(a.deny_write, b.deny_write);
  fs.deny_new = UniteDenies(a.deny_new, b.deny_new);
  fs.allow_read_within_deny = IntersectExceptions(a, b);
  fs.data_dir = a.data_dir ? a.data_dir : b.data_dir;
  if (a.data_dir && b.data_dir && *a.data_dir != *b.data_dir) DenyDataDir(*b.data_dir, fs);
  fs.temp = Stricter(a.temp, b.temp);
  fs.temp_size = Smaller(a.temp_size, b.temp_size);
  fs.caches = Stricter(a.caches, b.caches);
  fs.git = Stricter(a.git, b.git);
  fs.scan_depth = std::max(a.scan_depth, b.scan_depth);  // deeper protects more
  return fs;
}

// What of the list of `narrow` a side of a wider mode reaches. Open reaches
// all; public all that is public, and what its own list adds to that.
Entries AllowedBy(const NetPolicy& wide, const NetPolicy& narrow) {
  if (wide.mode == NetMode::kOpen) return narrow.allow;
  Entries added = IntersectHosts(wide.allow, narrow.allow);
  if (wide.mode != NetMode::kPublic || narrow.mode == NetMode::kPublic) return added;
  return Unite(PublicHosts(narrow.allow, wide.private_addresses), added);
}

Entries ComposeAllow(const NetPolicy& a, const NetPolicy& b) {
  // Among two open sides the lists mean nothing; one alone is kept as it is.
  if (a.mode == b.mode && a.mode == NetMode::kOpen) {
    if (a.allow.empty() || b.allow.empty()) return a.allow.empty() ? b.allow : a.allow;
    return IntersectHosts(a.allow, b.allow);
  }
  return a.mode >= b.mode ? AllowedBy(a, b) : AllowedBy(b, a);
}

// On the host's own network every port is reached already.
std::vector<int> ComposePorts(const NetPolicy& a, const NetPolicy& b,
                              std::vector<int> NetPolicy::* ports) {
  bool a_any = a.mode == NetMode::kOpen && (a.*ports).empty();
  bool b_any = b.mode == NetMode::kOpen && (b.*ports).empty();
  if (a_any) return Unite(b.*ports, {});
  if (b_any) return Unite(a.*ports, {});
  return IntersectEqual(a.*ports, b.*ports);
}

// An external proxy decides in our place. It is taken over only from a side
// whose partner leaves the network open anyway; two filters of which only one
// could run leave no network.
void ComposeExternal(const NetPolicy& a, const NetPolicy& b, NetPolicy& net) {
  auto silent = [](const NetPolicy& side) { return side.mode == NetMode::kOpen && !side.external; };
  if (a.external == b.external || silent(b)) {
    net.external = a.external;
  } else if (silent(a)) {
    net.external = b.external;
  } else {
    net.mode = NetMode::kNone;
  }
}

// A credential is a grant: only what both sides give. A side that leaves the
// network open and names none has no say in it.
std::vector<Credential> ComposeCredentials(const NetPolicy& a, const NetPolicy& b) {
  auto silent = [](const NetPolicy& side) {
    return side.mode == NetMode::kOpen && side.credentials.empty();
  };
  if (silent(a)) return Unite(b.credentials, {});
  if (silent(b)) return Unite(a.credentials, {});
  return IntersectEqual(a.credentials, b.credentials);
}

std::vector<HttpRule> RulesFor(const std::vector<HttpRule>& rules, std::string_view host) {
  std::vector<HttpRule> found;
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(found),
               [&](const HttpRule& rule) { return HostsOverlap(rule.host, host); });
  return found;
}

bool SameRules(const std::vector<HttpRule>& a, const std::vector<HttpRule>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

// A host with rules on one side keeps them; with different rules on both it is
// denied, since which requests match both is not decided here.
void ComposeRules(const NetPolicy& a, const NetPolicy& b, NetPolicy& net) {
  for (const auto& [own, other] : {std::pair(&a.rules, &b.rules), std::pair(&b.rules, &a.rules)}) {
    for (const HttpRule& rule : *own) {
      std::vector<HttpRule> theirs = RulesFor(*other, rule.host);
      bool agree = theirs.empty() || SameRules(RulesFor(*own, rule.host), theirs);
      if (!agree) net.deny.push_back({rule.host, {"conflicting net.rule", 0}});
      net.rules.push_back(rule);
    }
  }
}

bool RuleLess(const HttpRule& a, const HttpRule& b) {
  return std::tie(a.host, a.methods, a.paths) < std::tie(b.host, b.methods, b.paths);
}

void CanonicalRules(std::vector<HttpRule>& rules) {
  std::sort(rules.begin(), rules.end(), RuleLess);
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
}

NetPolicy ComposeNet(const NetPolicy& a, const NetPolicy& b) {
  NetPolicy net;
  net.mode = Stricter(a.mode, b.mode);
  net.allow = ComposeAllow(a, b);
  net.deny = Unite(a.deny, b.deny);
  net.unix_sockets = IntersectRoots(a.unix_sockets, b.unix_sockets);
  net.unix_sockets_dangerous = IntersectRoots(a.unix_sockets_dangerous, b.unix_sockets_dangerous);
  net.local_binding = a.local_binding && b.local_binding;
  net.publish = ComposePorts(a, b, &NetPolicy::publish);
  net.host_ports = ComposePorts(a, b, &NetPolicy::host_ports);
  net.upstream = a.upstream.empty() ? b.upstream : a.upstream;
  net.private_addresses = Stricter(a.private_addresses, b.private_addresses);
  net.tls_intercept = Unite(a.tls_intercept, b.tls_intercept);
  net.tls_ca = a.tls_ca ? a.tls_ca : b.tls_ca;
  net.credentials = ComposeCredentials(a, b);
  ComposeExternal(a, b, net);
  ComposeRules(a, b, net);
  return net;
}

// "*" stands for every command.
Entries IntersectCommands(const Entries& a, const Entries& b) {
  auto any = [](const Entries& list) { return list.size() == 1 && list[0].text == "*"; };
  if (any(a)) return Unite(b, {});
  if (any(b)) return Unite(a, {});
  return IntersectEqual(a, b);
}

ExecPolicy ComposeExec(const ExecPolicy& a, const ExecPolicy& b) {
  return {.deny = UniteDenies(a.deny, b.deny),
          .nesting = a.nesting && b.nesting,
          .excluded = IntersectCommands(a.excluded, b.excluded),
          .allow_unsandboxed = a.allow_unsandboxed && b.allow_unsandboxed};
}

EnvPolicy ComposeEnv(const EnvPolicy& a, const EnvPolicy& b) {
  EnvPolicy env{.mode = Stricter(a.mode, b.mode), .pass = {}, .set = a.set};
  env.set.insert(b.set.begin(), b.set.end());
  bool a_all = a.mode == EnvMode::kInherit, b_all = b.mode == EnvMode::kInherit;
  if (a_all && (a.pass.empty() || !b_all)) {
    env.pass = Unite(b.pass, {});
  } else if (b_all && (b.pass.empty() || !a_all)) {
    env.pass = Unite(a.pass, {});
  } else {
    env.pass = IntersectEqual(a.pass, b.pass);
  }
  return env;
}

LimitPolicy ComposeLimits(const LimitPolicy& a, const LimitPolicy& b) {
  return {.wall_ms = Smaller(a.wall_ms, b.wall_ms),
          .cpu_ms = Smaller(a.cpu_ms, b.cpu_ms),
          .memory = Smaller(a.memory, b.memory),
          .processes = Smaller(a.processes, b.processes),
          .open_files = Smaller(a.open_files, b.open_files),
          .file_size = Smaller(a.file_size, b.file_size),
          .output = Smaller(a.output, b.output)};
}

// What a side that does not scan would do on a leak does not matter.
LeakPolicy ComposeLeaks(const LeakPolicy& a, const LeakPolicy& b) {
  if (a.scan != b.scan) return a.scan ? a : b;
  return {.scan = a.scan, .on_leak = Stricter(a.on_leak, b.on_leak)};
}

// The place of the side whose value was taken; the parent's where both said it.
Policy::Origins ComposeOrigins(const Policy& parent, const Policy& child, const Policy& composed) {
  Policy::Origins origins;
  for (const Key& key : Keys()) {
    std::string name(key.name);
    auto of_parent = parent.origins.find(name), of_child = child.origins.find(name);
    bool from_parent = of_parent != parent.origins.end() &&
                       (of_child == child.origins.end() || SameValue(key, composed, parent));
    if (from_parent) {
      origins[name] = of_parent->second;
    } else if (of_child != child.origins.end()) {
      origins[name] = of_child->second;
    }
  }
  return origins;
}

}  // namespace

bool LeftReadable(const FsPolicy& fs, std::string_view path) {
  auto denied = Closest(fs.deny_read, path);
  auto excepted = Closest(fs.allow_read_within_deny, path);
  return !denied || (excepted && *excepted > *denied);
}

Policy Canonical(Policy policy) {
  FsPolicy& fs = policy.fs;
  fs.allow_read_within_deny = IntersectExceptions(fs, fs);
  for (PathRules* roots : {&fs.read, &fs.write, &fs.devices, &policy.net.unix_sockets,
                           &policy.net.unix_sockets_dangerous}) {
    DropImplied(*roots);
  }
  for (PathRules* denies : {&fs.deny_read, &fs.deny_write, &fs.deny_new, &policy.exec.deny}) {
    SortUnique(*denies);
  }
  policy.net.allow = CanonicalHosts(policy.net.allow);
  for (Entries* names : {&policy.require, &policy.net.deny, &policy.net.tls_intercept,
                         &policy.exec.excluded, &policy.env.pass}) {
    SortUnique(*names);
  }
  SortUnique(policy.net.publish);
  SortUnique(policy.net.host_ports);
  SortUnique(policy.net.credentials);
  CanonicalRules(policy.net.rules);
  return policy;
}

Policy Compose(const Policy& parent, const Policy& child) {
  Policy policy;
  policy.on_unavailable = Stricter(parent.on_unavailable, child.on_unavailable);
  policy.require = Unite(parent.require, child.require);
  policy.trust = std::max(parent.trust, child.trust);  // auto < require < forbid
  policy.fs = ComposeFs(parent.fs, child.fs);
  policy.net = ComposeNet(parent.net, child.net);
  policy.exec = ComposeExec(parent.exec, child.exec);
  policy.env = ComposeEnv(parent.env, child.env);
  policy.limits = ComposeLimits(parent.limits, child.limits);
  bool direct = parent.workspace_provider == WorkspaceProvider::kDirect;
  policy.workspace_provider = direct ? child.workspace_provider : parent.workspace_provider;
  policy.audit.log = parent.audit.log.empty() ? child.audit.log : parent.audit.log;
  policy.audit.denials = Stricter(parent.audit.denials, child.audit.denials);
  policy.leaks = ComposeLeaks(parent.leaks, child.leaks);
  policy.origins = ComposeOrigins(parent, child, policy);
  return Canonical(std::move(policy));
}

Policy Unrestricted() {
  const PathRules everything = {{.path = "/"}};
  Policy policy;
  policy.on_unavailable = OnUnavailable::kWarn;
  policy.fs = {.read = everything,
               .write = everything,
               .temp = TempMode::kShared,
               .caches = CacheMode::kHost,
               .devices = {{.path = "/dev"}},
               .git = GitMode::kOff,
               .scan_depth = 1};
  policy.net = {.mode = NetMode::kOpen,
                .unix_sockets = everything,
                .unix_sockets_dangerous = everything,
                .local_binding = true,
                .private_addresses = AddressMode::kAllow};
  policy.exec = {.nesting = true, .excluded = {{"*", {}}}, .allow_unsandboxed = true};
  policy.env.mode = EnvMode::kInherit;
  policy.audit.denials = DenialDetail::kExact;
  policy.leaks = {.scan = false, .on_leak = OnLeak::kRedact};
  return policy;
}

}  // namespace cordon::policy
