// MCP over two pipes: one message a line. One that is too long is answered with an error
// and passed over.
#pragma once

#include "mcp/session.h"

namespace cordon::mcp {

// Serves one client until `in` ends, `out` breaks, or `stop` becomes readable. What is
// under way then is cancelled, and has ended when this returns. Nothing else may write
// to `out`.
void ServeStdio(agent::Toolbox& box, const Offer& offer, int in, int out, int stop);

}  // namespace cordon::mcp
