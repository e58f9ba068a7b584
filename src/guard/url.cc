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

Result<Url> Read(std::string_view text) {
  auto parsed = boost::urls::parse_uri(boost::urls::string_view(text.data(), text.size()));
  if (!parsed) return Invalid(text, "not an absolute URL (RFC 3986)");
  Url url;
  if (parsed->scheme_id() == boost::urls::scheme::http) url.scheme = "http";
  if (parsed->scheme_id() == boost::urls::scheme::https) url.scheme = "https";
  if (url.scheme.empty()) return Invalid(text, "only http and https are fetched");
  if (!parsed->has_authority()) return Invalid(text, "it has no host");
  if (parsed->has_userinfo()) return Invalid(text, "it has a user name before the host");
  if (parsed->has_port() && parsed->port().empty()) return Invalid(text, "its port is empty");
  boost::urls::string_view host = parsed->encoded_host_and_port();
  CORDON_ASSIGN_OR_RETURN(url.target, ParseHostPort(std::string_view(host.data(), host.size()),
                                                    url.scheme == "http" ? 80 : 443));
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
