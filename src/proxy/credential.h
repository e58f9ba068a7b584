// Secrets that the sandbox does not have, put into requests that leave it. Pure.
#pragma once

#include <string>
#include <vector>

#include "guard/host_pattern.h"
#include "proxy/http_head.h"

namespace cordon::proxy {

struct Secret {
  guard::HostPattern host;  // without a port: 443 and 80, where TLS is spoken there
  std::string header;
  std::string format;  // "Bearer {}"
  std::string value;
  std::string placeholder;  // what stands for it inside; empty: nothing does
};

// The head as it goes to `to` over TLS: where a secret of that host has its
// header missing, it is added; where the header holds the placeholder, also inside
// "Basic", the value takes its place. Other heads and fields stay as they are.
RequestHead WithSecrets(RequestHead head, const std::vector<Secret>& secrets,
                        const guard::HostPort& to);

}  // namespace cordon::proxy
