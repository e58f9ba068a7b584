#include "guard/host_pattern.h"

#include <libpsl.h>

#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::guard {
namespace {

using Kind = HostPattern::Kind;

constexpr std::string_view kForm =
    "a host like \"example.com\", \"*.example.com\" (subdomains), \"**.example.com\" (it too) or "
    "an "
    "address, with or without \":port\"";
constexpr std::string_view kPublicHint =
    "to reach every public host, set net.mode = \"public\" (and use deny)";

Error Bad(std::string_view expected, std::string_view text, std::string hint = {}) {
  std::string shown = base::Printable(base::Utf8Prefix(text, 80));
  return base::InvalidArgument(Reason::kPolicyBadValue,
                               "expected " + std::string(expected) + ", got \"" + shown + "\"",
                               std::move(hint));
}

bool IsPublicSuffix(const std::string& name) {
  return psl_is_public_suffix2(psl_builtin(), name.c_str(), PSL_TYPE_ICANN) != 0;
}

Error TooWide(std::string_view text) {
  return Bad("a pattern below a name that someone registered", text, std::string(kPublicHint));
}

Kind TakeWildcard(std::string_view& rest) {
  if (rest.starts_with("**.")) {
    rest.remove_prefix(3);
    return Kind::kApexAndSubdomains;
  }
  if (rest.starts_with("*.")) {
    rest.remove_prefix(2);
    return Kind::kSubdomains;
  }
  return Kind::kExact;
}

// Only the wildcard's own name counts: below it everything may lie.
Status CheckWidth(const HostPattern& pattern) {
  if (pattern.kind == Kind::kExact || pattern.kind == Kind::kAddress) return {};
  if (IsPublicSuffix(pattern.name)) return TooWide(pattern.text);
  return {};
}

bool IsBareStar(std::string_view text) {
  std::string_view name = text.substr(0, text.find(':'));
  return name == "*" || name == "**";
}

bool IsBelow(std::string_view name, std::string_view parent) {
  return name.size() > parent.size() + 1 && name.ends_with(parent) &&
         name[name.size() - parent.size() - 1] == '.';
}

// The port of the intersection: none is 80 and 443.
struct CommonPort {
  bool any = false;
  std::optional<int> port;
};
CommonPort Meet(std::optional<int> a, std::optional<int> b) {
  auto is_web = [](std::optional<int> port) { return port == 80 || port == 443; };
  if (a == b) return {true, a};
  if (!a && is_web(b)) return {true, b};
  if (!b && is_web(a)) return {true, a};
  return {};
}

}  // namespace

Result<HostPattern> ParseHostPattern(std::string_view text, PatternUse use) {
  if (IsBareStar(text)) return TooWide(text);
  HostPattern pattern;
  pattern.text = text;
  std::string_view rest = text;
  pattern.kind = TakeWildcard(rest);
  // 65536 is no port: it stands for "none was written".
  Result<HostPort> target = ParseHostPort(rest, 65536);
  if (!target) return Bad(kForm, text, std::move(target).error().message);
  if (target->host.address && pattern.kind != Kind::kExact) {
    return Bad("an address without a wildcard", text);
  }
  if (target->host.address) pattern.kind = Kind::kAddress;
  pattern.name = std::move(target->host.name);
  pattern.address = target->host.address;
  if (target->port != 65536) pattern.port = target->port;
  if (use == PatternUse::kAllow) CORDON_TRY(CheckWidth(pattern));
  return pattern;
}

std::string ToString(const HostPattern& pattern) {
  std::string text = pattern.kind == Kind::kSubdomains          ? "*."
                     : pattern.kind == Kind::kApexAndSubdomains ? "**."
                                                                : "";
  text += ToString(Host{.name = pattern.name, .address = pattern.address});
  if (pattern.port) text += ":" + std::to_string(*pattern.port);
  return text;
}

bool MatchesName(const HostPattern& pattern, const Host& host) {
  if (pattern.address || host.address) return pattern.address == host.address;
  switch (pattern.kind) {
    case Kind::kExact:
      return host.name == pattern.name;
    case Kind::kSubdomains:
      return IsBelow(host.name, pattern.name);
    case Kind::kApexAndSubdomains:
      return host.name == pattern.name || IsBelow(host.name, pattern.name);
    case Kind::kAddress:
      break;
  }
  return false;
}

bool CoversName(const HostPattern& wide, const HostPattern& narrow) {
  Host apex{.name = narrow.name, .address = narrow.address};
  if (narrow.kind == Kind::kExact || narrow.kind == Kind::kAddress) return MatchesName(wide, apex);
  if (wide.kind == Kind::kExact || wide.kind == Kind::kAddress) return false;
  if (IsBelow(narrow.name, wide.name)) return true;
  if (wide.name != narrow.name) return false;
  return wide.kind == Kind::kApexAndSubdomains || narrow.kind == Kind::kSubdomains;
}

// Names form a tree, so of two patterns that meet one covers the other.
bool NamesOverlap(const HostPattern& a, const HostPattern& b) {
  return CoversName(a, b) || CoversName(b, a);
}

std::optional<HostPattern> Intersect(const HostPattern& a, const HostPattern& b) {
  CommonPort common = Meet(a.port, b.port);
  if (!common.any || !NamesOverlap(a, b)) return std::nullopt;
  HostPattern both = CoversName(a, b) ? b : a;
  both.port = common.port;
  both.text = ToString(both);
  return both;
}

}  // namespace cordon::guard
