#include "guard/url.h"

// The one place where Boost.URL is compiled.
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

// Boost 1.81 ends the host of "http://1.2.3.4.evil.test/" after the fourth
// number and calls the rest a path, so what lies between the slashes is cut out
// here, and ParseHostPort must take all of it.
std::string_view Authority(std::string_view text) {
  text.remove_prefix(text.find("://") + 3);
  return text.substr(0, text.find_first_of("/?#"));
}

Result<Url> Read(std::string_view text) {
  auto parsed = boost::urls::parse_uri(boost::urls::string_view(text.data(), text.size()));
  if (!parsed) return Invalid(text, "not an absolute URL (RFC 3986)");
  Url url;
  if (parsed->scheme_id() == boost::urls::scheme::http) url.scheme = "http";
  if (parsed->scheme_id() == boost::urls::scheme::https) url.scheme = "https";
  if (url.scheme.empty()) return Invalid(text, "only http and https are fetched");
  if (!parsed->has_authority()) return Invalid(text, "it has no host");
  std::string_view authority = Authority(text);
  if (authority.find('@') != authority.npos) {
    return Invalid(text, "it has a user name before the host");
  }
  int port = url.scheme == "http" ? 80 : 443;
  CORDON_ASSIGN_OR_RETURN(url.target, ParseHostPort(authority, port));
  return url;
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

}  // namespace cordon::guard
