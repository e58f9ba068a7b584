// Between an MCP client and a server of somebody else's: passes on what is a message,
// and keeps secrets from either side.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/leak_guard.h"
#include "cordon/sandbox.h"
#include "mcp/json_rpc.h"
#include "sys/fd.h"

namespace cordon::mcp {

// What becomes of one line.
struct Passed {
  std::optional<std::string> onward;  // to the other side
  std::optional<std::string> back;    // an answer in its place
  std::string notice;                 // for stderr; empty: none
};

// `guard` may be null: nothing is scanned then. A call whose arguments hold a secret is
// answered with an error and not passed on.
Passed FromClient(std::string_view line, const agent::LeakGuard* guard);
// Secrets in a result are redacted, or the result withheld. What is no message is dropped.
Passed FromServer(std::string_view line, const agent::LeakGuard* guard);

// Copies lines from `client_in` to `server_in` and from `server_out` to `client_out` until
// the server ends its output or `stop` is readable; then `server` is cancelled, as it is when
// the server goes on for long after the client has ended.
struct WrapStreams {
  int client_in = -1, client_out = -1;
  sys::UniqueFd server_in, server_out;
  int stop = -1;
  Cancellation server;
};
void Wrap(WrapStreams streams, const agent::LeakGuard* guard,
          const std::function<void(std::string_view)>& tell);

}  // namespace cordon::mcp
