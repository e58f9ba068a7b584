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
  bool operator==(const Url&) const = default;
};

// Reads RFC 3986 strictly and refuses what clients read in different ways:
// other schemes than http and https, userinfo, a host that ParseHost refuses,
// an empty port, backslashes, spaces, control and non-ASCII bytes. The error is
// kHostInvalid for a bad host and kRequestInvalid for the rest.
Result<Url> ParseUrl(std::string_view text);

}  // namespace cordon::guard
