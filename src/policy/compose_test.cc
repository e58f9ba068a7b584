#include "policy/compose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "guard/path.h"
#include "policy/host_lists.h"
#include "policy/host_pattern.h"

namespace cordon::policy {
namespace {

// ---- what a policy means, written down naively and apart from compose.cc ----

bool Below(std::string path, const std::string& root) {
  for (;; path = std::string(guard::Parent(path))) {
    if (path == root) return true;
    if (path == "/") return false;
  }
}

bool InRoots(const PathRules& roots, const std::string& path) {
  return std::any_of(roots.begin(), roots.end(),
                     [&](const PathRule& rule) { return Below(path, rule.path); });
}

bool Names(const PathRules& rules, const std::string& path, bool glob) {
  return std::any_of(rules.begin(), rules.end(), [&](const PathRule& rule) {
    return rule.glob == glob && (glob ? guard::GlobMatch(rule.path, path) : rule.path == path);
  });
}

bool Held(const PathRules& rules, std::string path) {
  for (;; path = std::string(guard::Parent(path))) {
    if (Names(rules, path, false) || Names(rules, path, true)) return true;
    if (path == "/") return false;
  }
}

bool InDataDir(const FsPolicy& fs, const std::string& path) {
  return fs.data_dir && (Below(path, fs.data_dir->path + "/data") ||
                         Below(path, fs.data_dir->path + "/config.toml"));
}

bool MayRead(const Policy& policy, const std::string& path) {
  const FsPolicy& fs = policy.fs;
  if (!InRoots(fs.read, path) || InDataDir(fs, path)) return false;
  for (std::string at = path;; at = std::string(guard::Parent(at))) {
    if (Names(fs.deny_read, at, false)) return false;
    if (Names(fs.allow_read_within_deny, at, false)) return true;
    if (Names(fs.deny_read, at, true)) return false;
    if (at == "/") return true;
  }
}

bool MayWrite(const Policy& policy, const std::string& path) {
  return InRoots(policy.fs.write, path) && !Held(policy.fs.deny_write, path) &&
         !InDataDir(policy.fs, path);
}

bool MayCreate(const Policy& policy, const std::string& path) {
  return MayWrite(policy, path) && !Held(policy.fs.deny_new, path);
}

bool MatchesHost(const Entry& entry, const std::string& host, int port) {
  if (entry.text.starts_with('@')) {
    static std::map<std::string, std::vector<std::string>> lists;
    std::vector<std::string>& members = lists[entry.text];
    if (members.empty()) members = *ExpandHostList(entry.text);
    return std::any_of(members.begin(), members.end(), [&](const std::string& member) {
      return MatchesHost({member, {}}, host, port);
    });
  }
  std::string name = entry.text, ports;
  if (size_t colon = name.find(':'); colon != std::string::npos) {
    ports = name.substr(colon + 1);
    name.resize(colon);
  }
  bool port_ok = ports.empty() ? port == 80 || port == 443 : std::stoi(ports) == port;
  bool apex_too = name.starts_with("**.");
  std::string end = name.substr(std::min(name.find('.'), name.size()));
  bool below = name.starts_with('*') && host.size() > end.size() && host.ends_with(end);
  bool name_ok = name == host || below || (apex_too && host == end.substr(1));
  return name_ok && port_ok;
}

bool Lists(const Entries& entries, const std::string& host, int port) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry& entry) { return MatchesHost(entry, host, port); });
}

bool IsInside(const std::string& host) { return host == "10.0.0.1" || host == "git.corp"; }

// In mode public what is not public needs to be listed.
bool MayConnect(const Policy& policy, const std::string& host, int port) {
  const NetPolicy& net = policy.net;
  if (net.mode == NetMode::kNone || Lists(net.deny, host, port)) return false;
  if (net.mode == NetMode::kOpen || Lists(net.allow, host, port)) return true;
  bool inside = IsInside(host) && net.private_addresses == AddressMode::kDeny;
  return net.mode == NetMode::kPublic && !inside;
}

bool MayReachPort(const Policy& policy, int port) {
  const auto& ports = policy.net.host_ports;
  return policy.net.mode == NetMode::kOpen ||
         std::find(ports.begin(), ports.end(), port) != ports.end();
}

bool PassesEnv(const Policy& policy, const std::string& name) {
  const Entries& pass = policy.env.pass;
  return policy.env.mode == EnvMode::kInherit ||
         std::find(pass.begin(), pass.end(), Entry{name, {}}) != pass.end();
}

// ---- generated policies and questions ----

const std::vector<std::string> kNames = {"a", "b", "k", ".env"};
const std::vector<std::string> kHosts = {"x.com",          "a.x.com",    "b.a.x.com",    "y.org",
                                         "ax.com",         "github.com", "codeberg.org", "git.corp",
                                         "api.github.com", "10.0.0.1"};
const std::vector<std::string> kPatterns = {
    "x.com",          "*.x.com",      "**.x.com",     "a.x.com",      "*.a.x.com",
    "**.a.x.com:443", "a.x.com:443",  "a.x.com:8443", "*.x.com:8443", "y.org",
    "**.y.org",       "x.com:80",     "@github",      "@codeberg",    "@yarn",
    "github.com",     "*.github.com", "git.corp",     "10.0.0.1",     "**.codeberg.org:22"};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Policy Make() {
    Policy policy;
    policy.on_unavailable = Pick<OnUnavailable>(2);
    policy.trust = Pick<Trust>(3);
    policy.require = Some({"fs", "net", "pid"});
    MakeFs(policy.fs);
    MakeNet(policy.net);
    policy.exec = {.deny = Rules(2, true),
                   .nesting = Coin(),
                   .excluded = Some({"docker", "kubectl"}),
                   .allow_unsandboxed = Coin()};
    policy.env = {.mode = Pick<EnvMode>(2), .pass = Some({"LANG", "CI", "X"}), .set = {}};
    if (Coin()) policy.env.set["CI"] = Coin() ? "1" : "2";
    policy.limits = {.wall_ms = Amount(), .memory = Amount(), .processes = Amount()};
    policy.workspace_provider = Pick<WorkspaceProvider>(4);
    if (Coin()) policy.audit.log = "/log";
    policy.audit.denials = Pick<DenialDetail>(3);
    policy.leaks = {.scan = Coin(), .on_leak = Pick<OnLeak>(3)};
    return policy;
  }

  std::string Path() {
    std::string path;
    for (int depth = Below(5); depth > 0; --depth) path += "/" + kNames[Below(kNames.size())];
    return path.empty() ? "/" : path;
  }
  const std::string& Host() { return kHosts[Below(kHosts.size())]; }
  int Port() { return std::vector<int>{80, 443, 8443, 22}[Below(4)]; }

 private:
  void MakeFs(FsPolicy& fs) {
    fs = {.read = Rules(3, false),
          .deny_read = Rules(3, true),
          .allow_read_within_deny = Rules(2, false),
          .write = Rules(3, false),
          .deny_write = Rules(2, true),
          .deny_new = Rules(2, true),
          .temp = Pick<TempMode>(3),
          .temp_size = Amount(),
          .caches = Pick<CacheMode>(3),
          .devices = Rules(1, false),
          .git = Pick<GitMode>(3),
          .scan_depth = 1 + static_cast<int>(Below(10))};
    if (Coin()) fs.read.push_back({.path = "/"});
    if (Below(4) == 0) fs.data_dir = PathRule{.path = Path()};
  }

  void MakeNet(NetPolicy& net) {
    net = {.mode = Pick<NetMode>(4),
           .allow = Some(kPatterns),
           .deny = Some({"y.org", "*.a.x.com"}),
           .unix_sockets = Rules(2, false),
           .local_binding = Coin(),
           .private_addresses = Pick<AddressMode>(2),
           .tls_intercept = Some({"x.com"})};
    for (int port : {80, 443, 8443}) {
      if (Coin()) net.host_ports.push_back(port);
    }
    if (Below(5) == 0) net.external = ExternalProxy{.http = 8080 + static_cast<int>(Below(2))};
    if (Below(5) == 0) net.upstream = Coin() ? "http://a:1" : "http://b:1";
    if (Below(4) == 0) net.rules.push_back({"x.com", {Coin() ? "GET" : "POST"}, {}});
  }

  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool Coin() { return Below(2) == 0; }
  template <typename E>
  E Pick(size_t n) {
    return static_cast<E>(Below(n));
  }
  std::optional<uint64_t> Amount() {
    if (Coin()) return std::nullopt;
    return 1 + Below(3);
  }
  Entries Some(const std::vector<std::string>& from) {
    Entries entries;
    for (const std::string& text : from) {
      if (Below(3) == 0) entries.push_back({text, {"p", 1}});
    }
    std::shuffle(entries.begin(), entries.end(), random_);
    return entries;
  }
  PathRules Rules(size_t most, bool globs) {
    PathRules rules;
    for (size_t n = Below(most + 1); n > 0; --n) {
      if (globs && Below(3) == 0) {
        const char* patterns[] = {"/**/.env", "/a/*", "/**/k", "/a/**/b", "/[ab]/k*"};
        rules.push_back({.path = patterns[Below(5)], .glob = true});
      } else {
        rules.push_back({.path = Path()});
      }
    }
    return rules;
  }

  std::mt19937 random_;
};

constexpr int kCases = 3000;
constexpr int kQuestions = 40;

// What one policy says to a fixed set of questions.
struct Answers {
  std::vector<bool> read, write, create, connect, ports, env;
  bool operator==(const Answers&) const = default;
};

struct Questions {
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, int>> hosts;

  explicit Questions(Generator& generator) {
    for (int i = 0; i < kQuestions; ++i) {
      paths.push_back(generator.Path());
      hosts.emplace_back(generator.Host(), generator.Port());
    }
  }

  Answers Ask(const Policy& policy) const {
    Answers answers;
    for (const std::string& path : paths) {
      answers.read.push_back(MayRead(policy, path));
      answers.write.push_back(MayWrite(policy, path));
      answers.create.push_back(MayCreate(policy, path));
    }
    for (const auto& [host, port] : hosts) {
      answers.connect.push_back(MayConnect(policy, host, port));
      answers.ports.push_back(MayReachPort(policy, port));
    }
    for (const char* name : {"LANG", "CI", "X", "Y"})
      answers.env.push_back(PassesEnv(policy, name));
    return answers;
  }
};

std::vector<bool> And(std::vector<bool> a, const std::vector<bool>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] && b[i];
  return a;
}

bool Implies(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] && !b[i]) return false;
  }
  return true;
}

TEST(Compose, NeverWidens) {
  Generator generator(1);
  for (int i = 0; i < kCases; ++i) {
    Policy a = generator.Make(), b = generator.Make(), c = Compose(a, b);
    Questions questions(generator);
    Answers of_a = questions.Ask(a), of_b = questions.Ask(b), of_c = questions.Ask(c);
    // Files and environment: exactly what both allow.
    ASSERT_EQ(of_c.read, And(of_a.read, of_b.read)) << i;
    ASSERT_EQ(of_c.write, And(of_a.write, of_b.write)) << i;
    ASSERT_EQ(of_c.create, And(of_a.create, of_b.create)) << i;
    ASSERT_EQ(of_c.env, And(of_a.env, of_b.env)) << i;
    // The network: at most that, since wishes that conflict close it.
    ASSERT_TRUE(Implies(of_c.connect, And(of_a.connect, of_b.connect))) << i;
    ASSERT_TRUE(Implies(of_c.ports, And(of_a.ports, of_b.ports))) << i;
  }
}

TEST(Compose, ScalarsTakeTheStricter) {
  Generator generator(2);
  auto within = [](auto c, auto a) { return !a || (c && *c <= *a); };
  for (int i = 0; i < kCases; ++i) {
    Policy a = generator.Make(), b = generator.Make(), c = Compose(a, b);
    for (const Policy& side : {a, b}) {
      ASSERT_LE(c.on_unavailable, side.on_unavailable);
      ASSERT_GE(c.trust, side.trust);
      ASSERT_LE(c.fs.temp, side.fs.temp);
      ASSERT_LE(c.fs.caches, side.fs.caches);
      ASSERT_LE(c.fs.git, side.fs.git);
      ASSERT_GE(c.fs.scan_depth, side.fs.scan_depth);
      ASSERT_LE(c.net.mode, side.net.mode);
      ASSERT_LE(c.net.local_binding, side.net.local_binding);
      ASSERT_LE(c.net.private_addresses, side.net.private_addresses);
      ASSERT_LE(c.exec.nesting, side.exec.nesting);
      ASSERT_LE(c.exec.allow_unsandboxed, side.exec.allow_unsandboxed);
      ASSERT_GE(c.leaks.scan, side.leaks.scan);
      ASSERT_TRUE(within(c.limits.wall_ms, side.limits.wall_ms));
      ASSERT_TRUE(within(c.limits.memory, side.limits.memory));
      ASSERT_TRUE(within(c.fs.temp_size, side.fs.temp_size));
      for (const Entry& entry : side.require) {
        ASSERT_NE(std::find(c.require.begin(), c.require.end(), entry), c.require.end());
      }
      for (const PathRule& socket : c.net.unix_sockets) {
        ASSERT_TRUE(InRoots(side.net.unix_sockets, socket.path));
      }
      for (const PathRule& device : c.fs.devices) {
        ASSERT_TRUE(InRoots(side.fs.devices, device.path));
      }
    }
    for (const auto& [name, value] : a.env.set) ASSERT_EQ(c.env.set.at(name), value);
  }
}

TEST(Compose, IsIdempotent) {
  Generator generator(3);
  for (int i = 0; i < kCases; ++i) {
    Policy policy = Canonical(generator.Make());
    ASSERT_EQ(Compose(policy, policy), policy) << i;
  }
}

TEST(Compose, UnrestrictedIsTheIdentityOnBothSides) {
  Generator generator(4);
  for (int i = 0; i < kCases; ++i) {
    Policy policy = generator.Make();
    policy.fs.devices = {{.path = "/dev/kvm"}};
    ASSERT_EQ(Compose(Unrestricted(), policy), Canonical(policy)) << i;
    ASSERT_EQ(Compose(policy, Unrestricted()), Canonical(policy)) << i;
  }
  EXPECT_EQ(Compose(Unrestricted(), Unrestricted()), Canonical(Unrestricted()));
}

TEST(Compose, TheEmptyPolicyAbsorbsAllGrants) {
  Generator generator(5);
  for (int i = 0; i < 200; ++i) {
    Policy policy = Compose(generator.Make(), Policy{});
    EXPECT_TRUE(policy.fs.read.empty() && policy.fs.write.empty() && policy.net.allow.empty());
    EXPECT_EQ(policy.net.mode, NetMode::kNone);
  }
}

TEST(Compose, IsAssociativeAndCommutativeInMeaning) {
  Generator generator(6);
  for (int i = 0; i < kCases; ++i) {
    Policy a = generator.Make(), b = generator.Make(), c = generator.Make();
    Questions questions(generator);
    Answers left = questions.Ask(Compose(Compose(a, b), c));
    Answers right = questions.Ask(Compose(a, Compose(b, c)));
    ASSERT_EQ(left.read, right.read) << i;
    ASSERT_EQ(left.write, right.write) << i;
    ASSERT_EQ(left.create, right.create) << i;
    ASSERT_EQ(left.env, right.env) << i;
    ASSERT_EQ(questions.Ask(Compose(a, b)), questions.Ask(Compose(b, a))) << i;
  }
}

TEST(Compose, CanonicalKeepsTheMeaning) {
  Generator generator(7);
  for (int i = 0; i < kCases; ++i) {
    Policy policy = generator.Make();
    Questions questions(generator);
    Policy canonical = Canonical(policy);
    ASSERT_EQ(questions.Ask(canonical), questions.Ask(policy)) << i;
    ASSERT_EQ(Canonical(canonical), canonical) << i;
  }
}

TEST(Compose, AnExceptionStaysOnlyIfBothLeaveItReadable) {
  Policy a, b;
  a.fs.read = b.fs.read = {{.path = "/"}};
  a.fs.deny_read = {{.path = "/h/.ssh"}};
  a.fs.allow_read_within_deny = {{.path = "/h/.ssh/known_hosts"}};
  b.fs.deny_read = {{.path = "/h"}};
  EXPECT_TRUE(MayRead(a, "/h/.ssh/known_hosts"));
  EXPECT_FALSE(MayRead(Compose(a, b), "/h/.ssh/known_hosts"));
  EXPECT_TRUE(MayRead(Compose(a, Unrestricted()), "/h/.ssh/known_hosts"));
}

TEST(Compose, TwoDataDirsAreBothProtected) {
  Policy a = Unrestricted(), b = Unrestricted();
  a.fs.data_dir = PathRule{.path = "/a"};
  b.fs.data_dir = PathRule{.path = "/b"};
  b.fs.allow_read_within_deny = {{.path = "/b/data/x"}};
  Policy c = Compose(a, b);
  for (const char* path : {"/a/data/x", "/a/config.toml", "/b/data/x", "/b/config.toml"}) {
    EXPECT_FALSE(MayRead(c, path)) << path;
    EXPECT_FALSE(MayCreate(c, path)) << path;
  }
}

TEST(Compose, AnExternalProxyCannotReplaceTheParentsFilter) {
  Policy parent, child;
  parent.net = {.mode = NetMode::kProxy, .allow = {{"x.com", {}}}};
  child.net = {.mode = NetMode::kProxy, .allow = {{"x.com", {}}}};
  child.net.external = ExternalProxy{.command = {"my-proxy"}};
  EXPECT_EQ(Compose(parent, child).net.mode, NetMode::kNone);
  EXPECT_EQ(Compose(Unrestricted(), child).net.external, child.net.external);
}

TEST(Compose, HttpRulesThatDifferDenyTheHost) {
  Policy a, b;
  a.net = {.mode = NetMode::kProxy, .allow = {{"x.com", {}}}, .rules = {{"x.com", {"GET"}, {}}}};
  b.net = {.mode = NetMode::kProxy, .allow = {{"x.com", {}}}, .rules = {{"x.com", {"POST"}, {}}}};
  EXPECT_FALSE(MayConnect(Compose(a, b), "x.com", 443));
  EXPECT_TRUE(MayConnect(Compose(a, a), "x.com", 443));
  b.net.rules.clear();
  EXPECT_EQ(Compose(a, b).net.rules, a.net.rules);
}

TEST(Compose, CredentialsAreNotAdded) {
  Policy parent, child;
  const Credential known{"x.com", "A", "{}", "env:K"}, added{"x.com", "B", "{}", "env:L"};
  parent.net = {.mode = NetMode::kProxy, .credentials = {known}};
  child.net = {.mode = NetMode::kProxy, .credentials = {known, added}};
  EXPECT_EQ(Compose(parent, child).net.credentials, std::vector{known});
  EXPECT_EQ(Compose(child, parent).net.credentials, std::vector{known});
  parent.net.credentials.clear();
  EXPECT_TRUE(Compose(parent, child).net.credentials.empty());
  EXPECT_EQ(Compose(Unrestricted(), child).net.credentials, (std::vector{known, added}));
}

TEST(Compose, AListIsNarrowedByNamesAndKeptByItself) {
  Policy a, b;
  a.net = {.mode = NetMode::kProxy, .allow = {{"@github", {}}, {"x.com", {}}}};
  b.net = {.mode = NetMode::kProxy, .allow = {{"API.github.com", {}}, {"**.x.com", {}}}};
  EXPECT_EQ(Compose(a, b).net.allow, (Entries{{"api.github.com", {}}, {"x.com", {}}}));
  b.net.allow = {{"@dev", {}}};
  Policy c = Compose(a, b);
  EXPECT_TRUE(MayConnect(c, "github.com", 22));
  EXPECT_FALSE(MayConnect(c, "x.com", 443));
  EXPECT_EQ(Compose(a, a).net.allow, (Entries{{"@github", {}}, {"x.com", {}}}));
}

TEST(Compose, WhatIsNotAPatternMeetsOnlyItself) {
  Policy a, b;
  a.net = {.mode = NetMode::kProxy, .allow = {{"*", {}}, {"@nothing", {}}}};
  b.net = {.mode = NetMode::kProxy, .allow = {{"*", {}}, {"x.com", {}}}};
  EXPECT_EQ(Compose(a, b).net.allow, (Entries{{"*", {}}}));
}

TEST(HostPattern, Intersects) {
  struct Case {
    const char *a, *b;
    std::vector<std::string> both;
  };
  const Case cases[] = {
      {"x.com", "X.com", {"x.com"}},
      {"*.x.com", "a.x.com", {"a.x.com"}},
      {"*.x.com", "x.com", {}},
      {"**.x.com", "x.com", {"x.com"}},
      {"**.x.com", "*.x.com", {"*.x.com"}},
      {"*.x.com", "ax.com", {}},
      {"*.x.com", "*.a.x.com", {"*.a.x.com"}},
      {"x.com", "x.com:443", {"x.com:443"}},
      {"x.com", "x.com:22", {}},
      {"x.com:22", "x.com:22", {"x.com:22"}},
      {"@npm", "@npm", {"@npm"}},
      {"@codeberg", "**.codeberg.org:22", {"**.codeberg.org:22"}},
      {"@codeberg", "git.codeberg.org", {"git.codeberg.org"}},
      {"@npm", "x.com", {}},
      {"*", "x.com", {}},
      {"[::1]:80", "[::1]", {"[::1]:80"}},
      {"::1", "0::1", {"[::1]"}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(IntersectHosts(c.a, c.b), c.both) << c.a << " " << c.b;
    EXPECT_EQ(IntersectHosts(c.b, c.a), c.both) << c.b << " " << c.a;
  }
  EXPECT_TRUE(HostsOverlap("@github", "api.github.com:9"));
  EXPECT_FALSE(HostsOverlap("@github", "x.com"));
}

}  // namespace
}  // namespace cordon::policy
