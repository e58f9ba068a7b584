#include "proxy/credential.h"

#include <algorithm>
#include <optional>

#include "base/base64.h"

namespace cordon::proxy {
namespace {

constexpr std::string_view kBasic = "Basic ";

bool IsFor(const Secret& secret, const guard::HostPort& to) {
  bool at_port = secret.host.port ? *secret.host.port == to.port : to.port == 443 || to.port == 80;
  return at_port && guard::MatchesName(secret.host, to.host);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string Filled(const Secret& secret, const std::string& value) {
  if (secret.placeholder.empty()) return value;
  if (SameFieldName(std::string_view(value).substr(0, kBasic.size()), kBasic)) {
    auto plain = base::FromBase64(std::string_view(value).substr(kBasic.size()));
    if (plain && plain->find(secret.placeholder) != plain->npos) {
      return std::string(kBasic) +
             base::ToBase64(Replaced(std::move(*plain), secret.placeholder, secret.value));
    }
  }
  return Replaced(value, secret.placeholder, secret.value);
}

// A server answers these with what it was sent, or runs with it; some do not look
// at the case.
bool IsSentBack(std::string_view method) {
  constexpr std::string_view kMethods[] = {"TRACE", "TRACK", "DEBUG"};
  return std::ranges::any_of(kMethods, [&](auto known) { return SameFieldName(method, known); });
}

}  // namespace

RequestHead WithSecrets(RequestHead head, const std::vector<Secret>& secrets,
                        const guard::HostPort& to) {
  if (IsSentBack(head.method)) return head;
  for (const Secret& secret : secrets) {
    if (!IsFor(secret, to)) continue;
    bool present = false;
    for (HeaderField& field : head.fields) {
      if (!SameFieldName(field.name, secret.header)) continue;
      present = true;
      field.value = Filled(secret, field.value);
    }
    if (!present) {
      head.fields.push_back({secret.header, Replaced(secret.format, "{}", secret.value)});
    }
  }
  return head;
}

}  // namespace cordon::proxy
