#include "guard/host_name.h"

#include <idn2.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::guard {
namespace {

constexpr size_t kMostBytes = 253;  // of a name without its trailing dot (RFC 1035)
constexpr size_t kMostLabelBytes = 63;
// Unicode needs more bytes than what it becomes; this bounds the work.
constexpr size_t kMostInputBytes = 1024;

Error Invalid(std::string_view text, std::string_view why) {
  // Before an @ there may be a password.
  size_t at = text.rfind('@');
  std::string shown = at == text.npos ? "" : "…";
  if (at != text.npos) text.remove_prefix(at);
  shown += base::Printable(base::Utf8Prefix(text, 80));
  return base::InvalidArgument(Reason::kHostInvalid,
                               "\"" + shown + "\" is not a host: " + std::string(why));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }
bool IsNameByte(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_'; }
bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return lower;
}

// Old resolvers read "127.1", "0x7f.1", "2130706433" and "0177.0.0.1" as
// addresses. What ends in a number is an address or nothing.
bool IsNumber(std::string_view label) {
  if (label.starts_with("0x")) {
    return std::all_of(label.begin() + 2, label.end(), IsHex);
  }
  return !label.empty() && std::all_of(label.begin(), label.end(), IsDigit);
}

// IDNA 2008 by way of UTS 46, non-transitional: "ß" stays itself.
Result<std::string> ToAscii(std::string_view text) {
  std::string terminated(text);
  char* output = nullptr;
  int status = idn2_to_ascii_8z(terminated.c_str(), &output, IDN2_NONTRANSITIONAL);
  std::unique_ptr<char, decltype(&idn2_free)> owned(output, &idn2_free);
  if (status != IDN2_OK) return Invalid(text, idn2_strerror(status));
  return Lower(output);
}

// libidn2 refuses "r3---x", which is a name that exists, so labels that are
// plain ASCII do not go through it.
Status CheckLabel(std::string_view text, const std::string& label) {
  if (label.empty()) return Invalid(text, "a label is empty");
  if (label.size() > kMostLabelBytes) return Invalid(text, "a label is longer than 63 bytes");
  if (!std::all_of(label.begin(), label.end(), IsNameByte)) {
    return Invalid(text, "only letters, digits, '-', '_' and '.' make a name");
  }
  if (label.starts_with('-') || label.ends_with('-')) {
    return Invalid(text, "a label starts or ends with '-'");
  }
  if (!label.starts_with("xn--")) return {};
  CORDON_ASSIGN_OR_RETURN(std::string same, ToAscii(label));
  if (same != label) return Invalid(text, "the punycode of a label is not canonical");
  return {};
}

Status CheckBytes(std::string_view text) {
  if (text.empty()) return Invalid(text, "it is empty");
  if (text.size() > kMostInputBytes) return Invalid(text, "it is too long");
  if (!base::IsValidUtf8(text)) return Invalid(text, "it is not UTF-8");
  for (char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) {
      return Invalid(text, "it holds a space or control character");
    }
    if (std::string_view("%@/\\?#").find(c) != std::string_view::npos) {
      return Invalid(text, std::string("it holds '") + c + "'");
    }
  }
  return {};
}

Result<Host> ParseAddress(std::string_view text) {
  std::string_view inner = text;
  if (inner.starts_with('[')) {
    if (!inner.ends_with(']')) return Invalid(text, "a bracket is not closed");
    inner = inner.substr(1, inner.size() - 2);
  }
  auto address = ParseIp(inner);
  if (!address || address->family != Family::kV6) return Invalid(text, "not an IPv6 address");
  return Host{.name = ToString(*address), .address = address};
}

Result<Host> ParseName(std::string_view text) {
  std::string name = Lower(text);
  if (!IsAscii(text)) {
    CORDON_ASSIGN_OR_RETURN(name, ToAscii(text));
  }
  if (name.ends_with('.')) name.pop_back();
  if (name.size() > kMostBytes) return Invalid(text, "it is longer than 253 bytes");
  std::vector<std::string> labels = base::Split(name, '.');
  for (const std::string& label : labels) CORDON_TRY(CheckLabel(text, label));
  if (IsNumber(labels.back())) {
    return Invalid(text, "an IPv4 address is four plain decimal numbers, and a name ends in none");
  }
  return Host{.name = std::move(name), .address = std::nullopt};
}

Result<int> ParsePort(std::string_view text, std::string_view digits) {
  int port = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  bool plain = !digits.empty() && std::all_of(digits.begin(), digits.end(), IsDigit) &&
               digits.front() != '0';
  if (!plain || error != std::errc() || port > 65535) {
    return Invalid(text, "a port is a plain number from 1 to 65535");
  }
  return port;
}

// Where the port's colon is; npos for "host", "::1" and "[::1]".
size_t PortColon(std::string_view text) {
  if (text.starts_with('[')) {
    size_t close = text.find(']');
    return close != text.npos && text.substr(close + 1).starts_with(':') ? close + 1 : text.npos;
  }
  size_t colon = text.find(':');
  return colon == text.rfind(':') ? colon : text.npos;
}

}  // namespace

Result<Host> ParseHost(std::string_view text) {
  CORDON_TRY(CheckBytes(text));
  if (text.find(':') != text.npos || text.starts_with('[')) return ParseAddress(text);
  if (auto address = ParseIp(text)) return Host{.name = ToString(*address), .address = address};
  return ParseName(text);
}

bool IsUnicodeOf(std::string_view text, const Host& host) {
  char* output = nullptr;
  int status = idn2_to_unicode_8z8z(host.name.c_str(), &output, 0);
  std::unique_ptr<char, decltype(&idn2_free)> owned(output, &idn2_free);
  if (text.ends_with('.')) text.remove_suffix(1);
  return status == IDN2_OK && Lower(text) == output;
}

Result<HostPort> ParseHostPort(std::string_view text, int default_port) {
  size_t colon = PortColon(text);
  if (colon == text.npos) {
    CORDON_ASSIGN_OR_RETURN(Host host, ParseHost(text));
    if (default_port == 0) return Invalid(text, "it has no port");
    return HostPort{.host = std::move(host), .port = default_port};
  }
  CORDON_ASSIGN_OR_RETURN(Host host, ParseHost(text.substr(0, colon)));
  CORDON_ASSIGN_OR_RETURN(int port, ParsePort(text, text.substr(colon + 1)));
  return HostPort{.host = std::move(host), .port = port};
}

std::string ToString(const Host& host) {
  bool v6 = host.address && host.address->family == Family::kV6;
  return v6 ? "[" + host.name + "]" : host.name;
}

std::string ToString(const HostPort& target) {
  return ToString(target.host) + ":" + std::to_string(target.port);
}

}  // namespace cordon::guard
