// MCP over streamable HTTP, on loopback only.
#pragma once

#include <string>

#include "cordon/result.h"
#include "mcp/session.h"
#include "sys/fd.h"

namespace cordon::mcp {

struct HttpOptions {
  std::string token;  // every request must bear it
  int port = 0;       // that `listener` has: what a Host field must say
};

// Serves POST and DELETE of /mcp until `stop` becomes readable. `listener` is a listening
// socket of 127.0.0.1. Requests for another host or from a page of another origin are
// refused: a browser could be made to send them.
Status ServeHttp(agent::Toolbox& box, const Offer& offer, const HttpOptions& options,
                 sys::UniqueFd listener, int stop);

}  // namespace cordon::mcp
