// The two sides of TLS, as the companion takes them: a server for the sandbox's
// clients, and a client of the real servers that believes none of them unverified.
#pragma once

#include <string>

#include "cordon/result.h"
#include "tls/authority.h"
#include "tls/openssl.h"

namespace cordon::tls {

class Endpoints {
 public:
  // `bundle`: PEM of the authorities that real servers are verified by.
  static Result<Endpoints> Make(Authority authority, const std::string& bundle);

  const Authority& authority() const { return authority_; }

  // Both are without a connection yet. `host` is what the client has to have
  // asked for, and what the server has to prove to be.
  Result<SslPtr> Server(const std::string& host);
  Result<SslPtr> Client(const std::string& host);

 private:
  Endpoints(Authority authority, ContextPtr server, ContextPtr client)
      : authority_(std::move(authority)), server_(std::move(server)), client_(std::move(client)) {}

  Authority authority_;
  ContextPtr server_;
  ContextPtr client_;
};

}  // namespace cordon::tls
