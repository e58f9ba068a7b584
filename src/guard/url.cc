#include "guard/url.h"

// The one place where Boost.URL is compiled.
#include <algorithm>
#include <boost/url/src.hpp>
#include <exception>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::guard {
namespace {

constexpr size_t kMostBytes = 16 * 1024;

Error Invalid(std::string_view text, std::string_view why) {
  std::string shown = base::Printable(base::Utf8Prefix(text, 80));
  return base::InvalidArgument(Reason::kRequestInvalid,
                               "\"" + shown + "\" is refused: " + std::string(why));
}

int DefaultPort(std::string_view scheme) { return scheme == "http" ? 80 : 443; }

// What lies between the slashes. ParseHostPort must take all of it.
std::string_view Authority(std::string_view text) {
  text.remove_prefix(2);
  return text.substr(0, text.find_first_of("/?#"));
}

// A Unicode host that is mapped to other letters, or that is one name by IDNA 2003 and
// another by 2008: ß, ẞ, ς, ZWJ, ZWNJ.
bool IsReadInTwoWays(std::string_view authority, const Host& host) {
  bool ascii = std::ranges::none_of(authority, [](char c) { return (c & 0x80) != 0; });
  if (ascii) return false;
  for (std::string_view letter :
       {"\xc3\x9f", "\xe1\xba\x9e", "\xcf\x82", "\xe2\x80\x8c", "\xe2\x80\x8d"}) {
    if (authority.find(letter) != authority.npos) return true;
  }
  return !IsUnicodeOf(authority.substr(0, authority.find(':')), host);
}

std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      encoded += c;
    } else {
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return encoded;
}

std::string Resource(std::string_view rest) {
  rest = rest.substr(0, rest.find('#'));
  std::string resource(rest);
  return resource.starts_with('/') ? resource : "/" + resource;
}

// Empty for all but http and https, in any case.
std::string Scheme(std::string_view text) {
  for (std::string_view scheme : {"http", "https"}) {
    bool same = std::ranges::equal(text.substr(0, text.find(':')), scheme,
                                   [](char a, char b) { return (a | 0x20) == b; });
    if (same) return std::string(scheme);
  }
  return {};
}

Result<Url> Read(std::string_view text) {
  Url url{.scheme = Scheme(text), .target = {}};
  if (url.scheme.empty()) return Invalid(text, "only http and https are fetched");
  std::string_view rest = text.substr(url.scheme.size() + 1);
  if (!rest.starts_with("//")) return Invalid(text, "not an absolute URL (RFC 3986)");
  std::string_view authority = Authority(rest);
  rest.remove_prefix(2 + authority.size());
  if (authority.empty()) return Invalid(text, "it has no host");
  if (authority.find('@') != authority.npos) {
    return Invalid(text, "it has a user name before the host");
  }
  // Of the host Boost sees only a stand-in: Unicode is no URI yet, and Boost 1.81 ends
  // the host of "http://1.2.3.4.evil.test/" after the fourth number.
  std::string encoded = PercentEncoded(rest);
  std::string standing = "http://host" + encoded;
  auto parsed = boost::urls::parse_uri(boost::urls::string_view(standing.data(), standing.size()));
  if (!parsed) return Invalid(text, "not an absolute URL (RFC 3986)");
  CORDON_ASSIGN_OR_RETURN(url.target, ParseHostPort(authority, DefaultPort(url.scheme)));
  if (IsReadInTwoWays(authority, url.target.host)) {
    return Invalid(text, "clients read its host as different names");
  }
  url.resource = Resource(encoded);
  return url;
}

bool HasScheme(std::string_view text) {
  size_t colon = text.find_first_of(":/?#");
  return colon != text.npos && text[colon] == ':';
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
  if (text.size() > kMostBytes) return Invalid(text, "it is too long");
  try {
    return Read(text);
  } catch (const std::exception& error) {
    return Invalid(text, error.what());
  }
}

std::string ToString(const Url& url) {
  bool usual = url.target.port == DefaultPort(url.scheme);
  std::string host = usual ? ToString(url.target.host) : ToString(url.target);
  return url.scheme + "://" + host + url.resource;
}

Result<Url> FollowRedirect(const Url& from, std::string_view location) {
  std::string text(location);
  Url base = from;
  if (location.starts_with("//")) {
    text = from.scheme + ":" + text;
  } else if (!HasScheme(location)) {
    std::string_view path = std::string_view(from.resource).substr(0, from.resource.find('?'));
    base.resource = "";
    if (location.starts_with('?')) base.resource = path;
    if (!location.starts_with('?') && !location.starts_with('/')) {
      base.resource = path.substr(0, path.rfind('/') + 1);
    }
    text = ToString(base) + text;
  }
  CORDON_ASSIGN_OR_RETURN(Url next, ParseUrl(text));
  if (from.scheme == "https" && next.scheme == "http") {
    return Invalid(location, "it leads from https to http");
  }
  return next;
}

}  // namespace cordon::guard
