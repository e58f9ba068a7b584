// Hosts, patterns and URLs: a host has one spelling, a verdict does not depend
// on how it was written, and an intersection matches what both sides match.
// The input is lines: a host, two patterns, a URL.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "guard/net_rules.h"
#include "guard/url.h"

namespace {

using namespace cordon::guard;

void Require(bool holds) {
  if (!holds) abort();
}

std::string Upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  }
  return text;
}

bool Allows(const HostPattern& pattern, const Host& host, int port) {
  bool on_port = pattern.port ? *pattern.port == port : port == 80 || port == 443;
  return on_port && MatchesName(pattern, host);
}

// Other spellings of the same host.
std::vector<Host> Variants(const Host& host) {
  std::vector<std::string> texts = {host.name, ToString(host), Upper(host.name)};
  if (!host.address) texts.push_back(host.name + ".");
  std::vector<Host> hosts;
  for (const std::string& text : texts) {
    auto again = ParseHost(text);
    Require(again.has_value());
    hosts.push_back(*again);
  }
  return hosts;
}

void CheckHost(const Host& host) {
  for (char c : host.name) Require(c > 0x20 && c < 0x7f && !(c >= 'A' && c <= 'Z'));
  for (const Host& variant : Variants(host)) Require(variant == host);
  if (host.address) Require(ParseIp(ToString(*host.address)) == host.address);
  auto target = ParseHostPort(ToString(HostPort{host, 8443}));
  Require(target && target->host == host && target->port == 8443);
}

void CheckPatterns(const HostPattern& a, const HostPattern& b, const Host& host) {
  auto again = ParseHostPattern(ToString(a));
  Require(again && again->name == a.name && again->kind == a.kind && again->port == a.port);
  auto both = Intersect(a, b);
  for (int port : {22, 80, 443, 8443}) {
    Require((both && Allows(*both, host, port)) ==
            (Allows(a, host, port) && Allows(b, host, port)));
  }
  if (CoversName(a, b) && MatchesName(b, host)) Require(MatchesName(a, host));
  if (MatchesName(a, host) && MatchesName(b, host)) Require(NamesOverlap(a, b));
}

void CheckRules(const HostPattern& allow, const HostPattern& deny, const Host& host) {
  for (cordon::NetMode mode : {cordon::NetMode::kNone, cordon::NetMode::kProxy,
                               cordon::NetMode::kPublic, cordon::NetMode::kOpen}) {
    NetRules rules{.mode = mode, .allow = {allow}, .deny = {deny}};
    for (int port : {22, 443}) {
      NetDecision decision = DecideHost(rules, host, port);
      Require(!decision.rule.empty());
      if (!decision.allowed) continue;
      Require(DecideLookup(rules, host).allowed);
      Require(mode != cordon::NetMode::kNone);
      Require(!MatchesName(deny, host) || (deny.port && *deny.port != port));
      if (mode == cordon::NetMode::kProxy) Require(Allows(allow, host, port));
      bool filtered = mode != cordon::NetMode::kOpen;
      if (host.address && filtered) Require(KindOf(*host.address) != AddressKind::kMetadata);
    }
  }
}

void CheckUrl(std::string_view text) {
  auto url = ParseUrl(text);
  if (!url) return;
  CheckHost(url->target.host);
  Require(url->target.port > 0 && url->target.port < 65536);
  auto again = ParseUrl(ToString(*url));
  Require(again && *again == *url);
  auto next = FollowRedirect(*ParseUrl("https://a.test/b"), text);
  Require(!next || next->scheme == "https");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> lines = cordon::base::Split(text, '\n');
  lines.resize(4);
  CheckUrl(lines[3]);
  auto host = ParseHost(lines[0]);
  auto a = ParseHostPattern(lines[1]), b = ParseHostPattern(lines[2], PatternUse::kDeny);
  if (!host) return 0;
  CheckHost(*host);
  if (!a || !b) return 0;
  CheckPatterns(*a, *b, *host);
  CheckRules(*a, *b, *host);
  return 0;
}
