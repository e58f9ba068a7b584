#include "proxy/parent_proxy.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/base64.h"
#include "base/error.h"

namespace cordon::proxy {
namespace {

Error BadUpstream(const std::string& what) {
  return base::InvalidArgument(
      Reason::kPolicyBadValue, "net.upstream, or https_proxy of the environment: " + what,
      "write it as http://[user:password@]host:port, https://… or socks5://…");
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    auto [end, failed] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
    if (failed != std::errc() || end != text.data() + i + 3) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

Status TakeCredentials(std::string_view text, ParentProxy& parent) {
  size_t colon = text.find(':');
  auto user = PercentDecoded(text.substr(0, colon));
  auto password = PercentDecoded(colon == text.npos ? "" : text.substr(colon + 1));
  if (!user || !password || user->empty()) return BadUpstream("the user cannot be read");
  if (user->size() > 255 || password->size() > 255 || user->find(':') != user->npos) {
    return BadUpstream("the user or password cannot be sent");
  }
  parent.user = std::move(*user);
  parent.password = std::move(*password);
  return {};
}

int MaxBits(const guard::IpAddress& address) {
  return address.family == guard::Family::kV4 ? 32 : 128;
}

std::optional<ParentProxy::Exception> ParseCidr(std::string_view text) {
  size_t slash = text.find('/');
  auto address = guard::ParseIp(text.substr(0, slash));
  if (!address) return std::nullopt;
  ParentProxy::Exception exception{.host = {.name = guard::ToString(*address), .address = address}};
  exception.prefix_bits = MaxBits(*address);
  if (slash == text.npos) return exception;
  std::string_view bits = text.substr(slash + 1);
  auto [end, failed] =
      std::from_chars(bits.data(), bits.data() + bits.size(), exception.prefix_bits);
  if (failed != std::errc() || end != bits.data() + bits.size() || exception.prefix_bits < 0 ||
      exception.prefix_bits > MaxBits(*address)) {
    return std::nullopt;
  }
  return exception;
}

// What cannot be read is left out, as every program that reads NO_PROXY does.
std::optional<ParentProxy::Exception> ParseException(std::string_view text) {
  if (text == "*") return ParentProxy::Exception{};
  if (auto cidr = ParseCidr(text)) return cidr;
  if (text.starts_with("*.")) text.remove_prefix(1);
  if (text.starts_with('.')) text.remove_prefix(1);
  if (auto whole = guard::ParseHost(text)) return ParentProxy::Exception{.host = *whole};
  auto with_port = guard::ParseHostPort(text);
  if (!with_port) return std::nullopt;
  ParentProxy::Exception exception{.host = with_port->host, .port = with_port->port};
  if (exception.host.address) exception.prefix_bits = MaxBits(*exception.host.address);
  return exception;
}

bool InPrefix(const guard::IpAddress& address, const guard::IpAddress& prefix, int bits) {
  if (address.family != prefix.family) return false;
  for (int bit = 0; bit < bits; ++bit) {
    size_t byte = static_cast<size_t>(bit) / 8;
    int mask = 0x80 >> (bit % 8);
    if (((address.bytes[byte] ^ prefix.bytes[byte]) & mask) != 0) return false;
  }
  return true;
}

bool Covers(const ParentProxy::Exception& exception, const guard::HostPort& target) {
  if (exception.port != 0 && exception.port != target.port) return false;
  if (exception.host.address) {
    return target.host.address &&
           InPrefix(*target.host.address, *exception.host.address, exception.prefix_bits);
  }
  if (exception.host.name.empty()) return true;
  return !target.host.address && (target.host.name == exception.host.name ||
                                  target.host.name.ends_with("." + exception.host.name));
}

}  // namespace

Result<ParentProxy> ParseParentProxy(std::string_view url, std::string_view no_proxy) {
  ParentProxy parent;
  int default_port = 3128;
  size_t scheme_end = url.find("://");
  std::string_view scheme = scheme_end == url.npos ? "http" : url.substr(0, scheme_end);
  if (scheme == "socks5" || scheme == "socks5h") {
    parent.kind = ParentProxy::Kind::kSocks5;
    default_port = 1080;
  } else if (scheme == "https") {
    parent.transport = ParentProxy::Transport::kTls;
    default_port = 443;
  } else if (scheme != "http") {
    return BadUpstream("\"" + std::string(scheme) + "\" is not a kind of proxy");
  }
  std::string_view rest = scheme_end == url.npos ? url : url.substr(scheme_end + 3);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (size_t at = rest.rfind('@'); at != rest.npos) {
    CORDON_TRY(TakeCredentials(rest.substr(0, at), parent));
    rest.remove_prefix(at + 1);
  }
  auto where = guard::ParseHostPort(rest, default_port);
  if (!where) return BadUpstream(where.error().message);
  parent.at = std::move(*where);
  while (!no_proxy.empty()) {
    size_t end = std::min(no_proxy.find_first_of(", \t"), no_proxy.size());
    if (auto exception = ParseException(no_proxy.substr(0, end)); exception && end > 0) {
      parent.exceptions.push_back(std::move(*exception));
    }
    no_proxy.remove_prefix(std::min(end + 1, no_proxy.size()));
  }
  return parent;
}

bool GoesThrough(const ParentProxy& parent, const guard::HostPort& target) {
  return std::ranges::none_of(parent.exceptions,
                              [&](const auto& one) { return Covers(one, target); });
}

std::string BasicCredentials(const ParentProxy& parent) {
  return "Basic " + base::ToBase64(parent.user + ":" + parent.password);
}

}  // namespace cordon::proxy
