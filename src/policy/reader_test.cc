#include "policy/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/schema.h"

namespace cordon::policy {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Context Ctx() { return {.home = "/home/u", .workspace = "/w", .env = {{"X", "/x"}}}; }

Result<Policy> Toml(std::string_view text, Policy base = {}) {
  return Read(text, Format::kToml, "p.toml", Ctx(), std::move(base));
}

Result<Policy> Json(std::string_view text) {
  return Read(text, Format::kJson, "p.json", Ctx(), Policy{});
}

constexpr char kEverything[] = R"(
version = 1
preset  = "workspace"
on_unavailable = "warn"
require = ["fs", "net", "pid", "seccomp"]
trust   = "require"
[fs]
read  = ["/"]
deny_read = ["~/.ssh", "**/.env"]
allow_read_within_deny = ["~/.ssh/known_hosts"]
write = ["."]
deny_write = ["secrets/**", "*.lock"]
deny_new = ["**/.env*"]
data_dir = "~/.myagent"
temp  = "private"
temp_size = "1GiB"
caches = "private"
devices = ["/dev/kvm"]
git   = "allow-config"
scan_depth = 7
[net]
mode  = "proxy"
allow = ["github.com", "*.githubusercontent.com", "api.example.com:8443", "@npm"]
deny  = ["gist.github.com"]
unix_sockets = ["~/.ssh/agent.sock"]
unix_sockets_dangerous = ["?/run/docker.sock"]
local_binding = true
publish = [3000]
host_ports = [5432]
upstream = "http://proxy.corp:3128"
external = { http = 8080, socks = 1080 }
private_addresses = "allow"
[net.tls]
intercept = ["api.example.com"]
ca = { cert = "~/ca.pem", key = "/etc/ca.key" }
[[net.rule]]
host = "api.example.com"
methods = ["GET"]
paths = ["/v1/**"]
[[net.credential]]
host = "api.example.com"
header = "Authorization"
format = "Bearer {}"
from = "env:API_KEY"
[[net.credential]]
host = "*.example.com"
header = "X-Key"
from = "file:~/.key"
[exec]
deny = ["/usr/bin/sudo"]
nesting = true
excluded = ["docker", "kubectl"]
allow_unsandboxed = true
[env]
mode = "inherit"
pass = ["LANG", "CARGO_HOME"]
set  = { CI = "true", EMPTY = "" }
[limits]
wall = "60s"
cpu = 300
memory = "2GiB"
processes = 256
open_files = 1024
file_size = "1GiB"
output = "50kB"
[workspace]
provider = "overlay"
[audit]
log = "~/.local/state/cordon/audit.jsonl"
denials = "exact"
[leaks]
scan = true
on_leak = "redact"
)";

TEST(Reader, ReadsTheWholeSchema) {
  auto policy = Toml(kEverything);
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->on_unavailable, OnUnavailable::kWarn);
  EXPECT_EQ(policy->require.size(), 4u);
  EXPECT_EQ(policy->trust, Trust::kRequire);
  EXPECT_EQ(policy->fs.read[0].path, "/");
  EXPECT_EQ(policy->fs.deny_read[0].path, "/home/u/.ssh");
  EXPECT_EQ(policy->fs.deny_read[1].path, "/w/**/.env");
  EXPECT_TRUE(policy->fs.deny_read[1].glob);
  EXPECT_EQ(policy->fs.allow_read_within_deny[0].path, "/home/u/.ssh/known_hosts");
  EXPECT_EQ(policy->fs.write[0].path, "/w");
  EXPECT_EQ(policy->fs.deny_write[1].path, "/w/**/*.lock");
  EXPECT_EQ(policy->fs.data_dir->path, "/home/u/.myagent");
  EXPECT_EQ(policy->fs.temp, TempMode::kPrivate);
  EXPECT_EQ(policy->fs.temp_size, 1ull << 30);
  EXPECT_EQ(policy->fs.git, GitMode::kAllowConfig);
  EXPECT_EQ(policy->fs.scan_depth, 7);
  EXPECT_EQ(policy->net.mode, NetMode::kProxy);
  EXPECT_EQ(policy->net.allow[2].text, "api.example.com:8443");
  EXPECT_TRUE(policy->net.unix_sockets_dangerous[0].optional);
  EXPECT_EQ(policy->net.publish, std::vector<int>{3000});
  EXPECT_EQ(policy->net.tls_ca, (TlsAuthority{"/home/u/ca.pem", "/etc/ca.key"}));
  EXPECT_EQ(
      policy->net.credentials,
      (std::vector<Credential>{{"api.example.com", "Authorization", "Bearer {}", "env:API_KEY"},
                               {"*.example.com", "X-Key", "{}", "file:/home/u/.key"}}));
  EXPECT_EQ(policy->net.external->socks, 1080);
  EXPECT_EQ(policy->net.rules[0].methods, std::vector<std::string>{"GET"});
  EXPECT_EQ(policy->exec.excluded[1].text, "kubectl");
  EXPECT_EQ(policy->env.set.at("CI"), "true");
  EXPECT_EQ(policy->env.set.at("EMPTY"), "");
  EXPECT_EQ(policy->limits.wall_ms, 60000u);
  EXPECT_EQ(policy->limits.cpu_ms, 300000u);
  EXPECT_EQ(policy->limits.output, 50000u);
  EXPECT_EQ(policy->workspace_provider, WorkspaceProvider::kOverlay);
  EXPECT_EQ(policy->audit.log, "/home/u/.local/state/cordon/audit.jsonl");
  EXPECT_EQ(policy->leaks.on_leak, OnLeak::kRedact);
}

TEST(Reader, KnowsWhereEachValueCameFrom) {
  auto policy = Toml("[fs]\nread = [\n\"/a\",\n\"/b\"]\ntemp = \"none\"\n");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->fs.read[1].origin.ToString(), "p.toml:4");
  EXPECT_EQ(policy->origins.at("fs.temp").ToString(), "p.toml:5");
}

TEST(Reader, AListAddsOnlyReplacesAndScalarsReplace) {
  auto base = Toml("[fs]\nread = [\"/a\"]\ntemp = \"none\"\n[limits]\nprocesses = 1\n");
  auto more = Toml("[fs]\nread = [\"/b\", \"/a\"]\ntemp = \"shared\"\n", *base);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->fs.read.size(), 2u);
  EXPECT_EQ(more->fs.temp, TempMode::kShared);
  EXPECT_EQ(more->limits.processes, 1u);
  auto only = Toml("[fs]\nread = { only = [\"/c\"] }\n", *more);
  ASSERT_TRUE(only);
  ASSERT_EQ(only->fs.read.size(), 1u);
  EXPECT_EQ(only->fs.read[0].path, "/c");
}

TEST(Reader, WithoutTakesFromTheBaseWhatItHas) {
  auto base = Toml(
      "[fs]\ndeny_read = [\"?/a\", \"/b\", \"*.key\"]\n[net]\nallow = [\"x.test\"]\npublish = [1, "
      "2]\n");
  auto less = Toml(
      "[fs]\ndeny_read = { without = [\"/a\", \"*.key\"] }\n[net]\nallow = { without = "
      "[\"x.test\"] }\n"
      "publish = { without = [2] }\n",
      *base);
  ASSERT_TRUE(less) << less.error().message;
  ASSERT_EQ(less->fs.deny_read.size(), 1u);
  EXPECT_EQ(less->fs.deny_read[0].path, "/b");
  EXPECT_TRUE(less->net.allow.empty());
  EXPECT_EQ(less->net.publish, std::vector<int>{1});
  auto slip = Toml("[fs]\ndeny_read = { without = [\"/bb\"] }\n", *base);
  ASSERT_FALSE(slip);
  EXPECT_EQ(slip.error().message,
            "p.toml:2: fs.deny_read: expected what the list below has, got \"/bb\"");
}

TEST(Reader, AnEmptyDocumentIsTheBase) {
  auto base = Toml(kEverything);
  EXPECT_EQ(*Toml("", *base), *base);
  EXPECT_EQ(*Json("{}"), Policy{});
}

struct BadCase {
  const char* text;
  Reason reason;
  const char* start;
  const char* hint;
};

TEST(Reader, SaysWhatIsWrongAndWhere) {
  const BadCase cases[] = {
      {"[fs]\nraed = []", Reason::kPolicyUnknownKey, "p.toml:2: fs.raed: unknown key",
       "\"fs.read\""},
      {"[sf]\nread = []", Reason::kPolicyUnknownKey, "p.toml:1: sf: unknown key", "\"fs\""},
      {"deny_read = []", Reason::kPolicyUnknownKey, "p.toml:1: deny_read: unknown key",
       "\"fs.deny_read\""},
      {"\"fs.read\" = [\"/\"]", Reason::kPolicyUnknownKey, "p.toml:1: fs.read: unknown key", ""},
      {"[fs]\nread = \"/\"", Reason::kPolicyBadValue,
       "p.toml:2: fs.read: expected a list, { only = [...] } or { without = [...] }, got \"/\"",
       ""},
      {"[fs]\nread = { onyl = [] }", Reason::kPolicyBadValue, "p.toml:2: fs.read: ", ""},
      {"[fs]\nread = { only = [], x = 1 }", Reason::kPolicyBadValue, "p.toml:2: fs.read: ", ""},
      {"[fs]\nread = [\"/a\",\n 1]", Reason::kPolicyBadValue,
       "p.toml:3: fs.read: expected a path, got 1", ""},
      {"fs = 1", Reason::kPolicyBadValue, "p.toml:1: fs: expected a table, got 1", ""},
      {"[fs]\ntemp = \"x\"", Reason::kPolicyBadValue,
       "p.toml:2: fs.temp: expected none | private | shared, got \"x\"", ""},
      {"[fs]\nscan_depth = 11", Reason::kPolicyBadValue,
       "p.toml:2: fs.scan_depth: expected a number from 1 to 10, got 11", ""},
      {"version = 2", Reason::kPolicyBadValue, "p.toml:1: version: expected 1, got 2", ""},
      {"version = \"1\"", Reason::kPolicyBadValue, "p.toml:1: version: ", ""},
      {"preset = []", Reason::kPolicyBadValue, "p.toml:1: preset: ", ""},
      {"preset = \"\"", Reason::kPolicyBadValue, "p.toml:1: preset: ", ""},
      {"require = [\"secomp\"]", Reason::kPolicyBadValue, "p.toml:1: require: ", "seccomp"},
      {"[limits]\nprocesses = 0", Reason::kPolicyBadValue, "p.toml:2: limits.processes: ", ""},
      {"[limits]\nprocesses = \"5\"", Reason::kPolicyBadValue, "p.toml:2: limits.processes: ", ""},
      {"[limits]\nmemory = -1", Reason::kPolicyBadValue, "p.toml:2: limits.memory: ", ""},
      {"[limits]\nwall = 1.5", Reason::kPolicyBadValue,
       "p.toml:2: limits.wall: expected duration, got a float", ""},
      {"[limits]\nwall = 12345678901234567890", Reason::kPolicyBadValue,
       "p.toml:2: limits.wall: ", ""},
      {"[net]\npublish = [0]", Reason::kPolicyBadValue, "p.toml:2: net.publish: ", ""},
      {"[net]\npublish = [\"80\"]", Reason::kPolicyBadValue, "p.toml:2: net.publish: ", ""},
      {"[net]\nallow = [\"\"]", Reason::kPolicyBadValue, "p.toml:2: net.allow: ", ""},
      {"[net]\nallow = [\"a b\"]", Reason::kPolicyBadValue, "p.toml:2: net.allow: ", ""},
      {"[net]\nexternal = {}", Reason::kPolicyBadValue, "p.toml:2: net.external: ", ""},
      {"[net]\nexternal = { http = 1, command = [\"x\"] }", Reason::kPolicyBadValue,
       "p.toml:2: net.external: ", ""},
      {"[net]\nexternal = { htpp = 1 }", Reason::kPolicyUnknownKey, "p.toml:2: net.external: ", ""},
      {"[[net.rule]]\nmethods = [\"GET\"]", Reason::kPolicyBadValue, "p.toml:1: net.rule: ", ""},
      {"[[net.rule]]\nhost = \"x\"\nmethods = []", Reason::kPolicyBadValue,
       "p.toml:3: net.rule: ", ""},
      {"[[net.rule]]\nhost = \"x\"\nmethod = [\"GET\"]", Reason::kPolicyUnknownKey,
       "p.toml:3: net.rule: ", ""},
      {"[[net.credential]]\nhost = \"x.com\"\nheader = \"A\"", Reason::kPolicyBadValue,
       "p.toml:1: net.credential: ", ""},
      {"[[net.credential]]\nhost = \"@npm\"", Reason::kPolicyBadValue,
       "p.toml:2: net.credential: ", ""},
      {"[[net.credential]]\nheader = \"Host\"", Reason::kPolicyBadValue,
       "p.toml:2: net.credential: ", ""},
      {"[[net.credential]]\nformat = \"Bearer\"", Reason::kPolicyBadValue,
       "p.toml:2: net.credential: ", ""},
      {"[[net.credential]]\nfrom = \"KEY\"", Reason::kPolicyBadValue,
       "p.toml:2: net.credential: ", ""},
      {"[[net.credential]]\nform = \"KEY\"", Reason::kPolicyUnknownKey,
       "p.toml:2: net.credential: ", ""},
      {"[net.tls]\nca = { cert = \"/c\" }", Reason::kPolicyBadValue, "p.toml:2: net.tls.ca: ", ""},
      {"[env]\nset = { \"A B\" = \"x\" }", Reason::kPolicyBadValue, "p.toml:2: env.set: ", ""},
      {"[env]\nset = { A = 1 }", Reason::kPolicyBadValue, "p.toml:2: env.set: A: ", ""},
      {"[env]\nset = { A = \"\\u0000\" }", Reason::kPolicyBadValue, "p.toml:2: env.set: ", ""},
      {"[exec]\nnesting = 1", Reason::kPolicyBadValue, "p.toml:2: exec.nesting: ", ""},
      {"[fs]\ntemp = 2020-01-01", Reason::kPolicyBadValue, "p.toml:2: fs.temp: ", ""},
      {"[fs\n", Reason::kPolicySyntax, "p.toml:1: ", ""},
  };
  for (const BadCase& c : cases) {
    auto policy = Toml(c.text);
    ASSERT_FALSE(policy) << c.text;
    EXPECT_EQ(policy.error().reason, c.reason) << c.text << " " << policy.error().message;
    EXPECT_THAT(policy.error().message, StartsWith(c.start)) << c.text;
    EXPECT_THAT(policy.error().hint, HasSubstr(c.hint)) << c.text;
  }
}

TEST(PresetsNamed, TakesAStringOrAList) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(*PresetsNamed("", Format::kToml, "p"), Names{});
  EXPECT_EQ(*PresetsNamed("preset = \"rx\"", Format::kToml, "p"), Names{"rx"});
  EXPECT_EQ(*PresetsNamed("{\"preset\": [\"a\", \"b\"]}", Format::kJson, "p"), (Names{"a", "b"}));
}

TEST(Assign, IsOneMoreLayer) {
  auto policy = Assign({"fs.read", "/a", "flag --read"}, Ctx(), Policy{});
  policy = Assign({"fs.read", "b", "flag --read"}, Ctx(), *policy);
  policy = Assign({"limits.wall", "3", "flag --timeout"}, Ctx(), *policy);
  policy = Assign({"limits.processes", "256", "flag --processes"}, Ctx(), *policy);
  policy = Assign({"net.publish", "80", "flag --publish"}, Ctx(), *policy);
  policy = Assign({"env.set", "A=b=c", "flag --env"}, Ctx(), *policy);
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->fs.read[1].path, "/w/b");
  EXPECT_EQ(policy->fs.read[1].origin.ToString(), "flag --read");
  EXPECT_EQ(policy->limits.wall_ms, 3000u);
  EXPECT_EQ(policy->limits.processes, 256u);
  EXPECT_EQ(policy->net.publish, std::vector<int>{80});
  EXPECT_EQ(policy->env.set.at("A"), "b=c");
  auto bad = Assign({"limits.processes", "0", "flag --processes"}, Ctx(), Policy{});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, StartsWith("flag --processes: limits.processes: expected"));
  EXPECT_FALSE(Assign({"fs.nonsense", "x", "flag"}, Ctx(), Policy{}));
}

TEST(Schema, EveryKeyHasWordsAndAnExampleThatReads) {
  for (const Key& key : Keys()) {
    EXPECT_FALSE(key.doc.empty()) << key.name;
    auto policy = Toml(std::string(key.name) + " = " + std::string(key.example));
    EXPECT_TRUE(policy) << key.name << " " << policy.error().message;
    if (key.fallback.empty()) continue;
    auto fallback = Toml(std::string(key.name) + " = " + std::string(key.fallback));
    ASSERT_TRUE(fallback) << key.name << " " << fallback.error().message;
    EXPECT_EQ(*fallback, Policy{}) << key.name;
  }
}

}  // namespace
}  // namespace cordon::policy
