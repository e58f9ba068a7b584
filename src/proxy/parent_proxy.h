// The proxy that ours goes through, if there is one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"
#include "guard/net_rules.h"

namespace cordon::proxy {

struct ParentProxy {
  enum class Kind { kHttp, kSocks5 };
  Kind kind = Kind::kHttp;
  enum class Transport { kPlain, kTls };
  Transport transport = Transport::kPlain;
  guard::HostPort at;
  std::string user;  // empty: no authentication
  std::string password;

  // Not gone through for these: "*", a name with all below it (".x" and "x" alike),
  // an address or a CIDR, each with or without ":port".
  struct Exception {
    guard::Host host;     // the name; "*" has neither name nor address
    int prefix_bits = 0;  // of an address
    int port = 0;         // 0: any
  };
  std::vector<Exception> exceptions;
};

// "http://user:password@host:port", "https://…", "socks5://…" (and socks5h); user
// and password may be percent-encoded. `no_proxy` is separated by commas or blanks.
Result<ParentProxy> ParseParentProxy(std::string_view url, std::string_view no_proxy);

bool GoesThrough(const ParentProxy& parent, const guard::HostPort& target);

// "Basic …", for an HTTP parent with a user.
std::string BasicCredentials(const ParentProxy& parent);

}  // namespace cordon::proxy
