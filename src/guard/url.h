// URLs that a tool is asked to fetch.
#pragma once

#include <string>
#include <string_view>

#include "cordon/result.h"
#include "guard/host_name.h"

namespace cordon::guard {

struct Url {
  std::string scheme;  // "http" or "https"
  HostPort target;
  std::string resource = "/";  // path and query, as a request has them; no fragment
  bool operator==(const Url&) const = default;
};

// Reads RFC 3986 strictly and refuses what clients read in different ways:
// other schemes than http and https, userinfo, a host that ParseHost refuses or
// that IDNA 2003 and 2008 read differently, an empty port, backslashes, spaces and
// control bytes. Non-ASCII is taken in the host, and in the rest percent-encoded.
// The error is kHostInvalid for a bad host and kRequestInvalid for the rest.
Result<Url> ParseUrl(std::string_view text);

// Canonical: the host in ASCII, the port only where it is not the scheme's.
std::string ToString(const Url& url);

// Where a Location header leads from `from`. The answer is to be decided like any other
// URL. Refuses what ParseUrl refuses, and a step from https to http.
Result<Url> FollowRedirect(const Url& from, std::string_view location);

}  // namespace cordon::guard
