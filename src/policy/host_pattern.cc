#include "policy/host_pattern.h"

#include <algorithm>

namespace cordon::policy {
namespace {

struct Pattern {
  std::string name;
  std::string port;  // empty: 80 and 443
};

Pattern Split(std::string_view text) {
  Pattern pattern{.name = std::string(text), .port = {}};
  size_t colon = text.rfind(':');
  // An IPv6 address without brackets has no port.
  bool bare_v6 = !text.starts_with('[') && text.find(':') != colon;
  bool inside = colon != std::string_view::npos && text.find(']', colon) != std::string_view::npos;
  if (colon != std::string_view::npos && !bare_v6 && !inside) {
    pattern.name = text.substr(0, colon);
    pattern.port = text.substr(colon + 1);
  }
  std::transform(pattern.name.begin(), pattern.name.end(), pattern.name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return pattern;
}

// Whether every name of `narrow` matches `wide`. "*" matches all names but not
// lists, "*.x" what ends in ".x".
bool Covers(std::string_view wide, std::string_view narrow) {
  if (wide == narrow) return true;
  if (wide.starts_with('@') || narrow.starts_with('@')) return false;
  if (wide == "*") return true;
  return wide.starts_with("*.") && narrow.size() > wide.size() - 1 &&
         narrow.ends_with(wide.substr(1));
}

std::optional<std::string> NarrowerName(const std::string& a, const std::string& b) {
  if (Covers(a, b)) return b;
  if (Covers(b, a)) return a;
  return std::nullopt;
}

// The port text of the intersection; nothing if no port is in both.
std::optional<std::string> CommonPort(const std::string& a, const std::string& b) {
  if (a == b) return a;
  auto is_web = [](const std::string& port) { return port == "80" || port == "443"; };
  if (a.empty() && is_web(b)) return b;
  if (b.empty() && is_web(a)) return a;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> IntersectHosts(std::string_view a, std::string_view b) {
  Pattern left = Split(a), right = Split(b);
  auto name = NarrowerName(left.name, right.name);
  auto port = CommonPort(left.port, right.port);
  if (!name || !port) return std::nullopt;
  return port->empty() ? *name : *name + ":" + *port;
}

bool HostsOverlap(std::string_view a, std::string_view b) {
  return NarrowerName(Split(a).name, Split(b).name).has_value();
}

}  // namespace cordon::policy
