// A command of the user's that is asked before a call. It runs outside, as the user.
#pragma once

#include <string>
#include <string_view>

#include "agent/json.h"
#include "cordon/result.h"

namespace cordon::agent {

// `command` is a line for sh. It reads {"event": "before_call", "tool": …, "arguments": {…}}
// and writes {"decision": "allow" | "deny", "reason": …, "arguments": {…}}: `arguments`
// take the place of the call's. Nothing written and status 0 means allow. Any other
// status, no answer in 30 s, or an answer that cannot be read is a denial: hook_denied.
Result<Json> AskHook(const std::string& command, std::string_view tool, const Json& arguments);

}  // namespace cordon::agent
