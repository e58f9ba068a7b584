// net.external with a command: a proxy of the user's own that is started for the
// run, on the host's side, and ends with it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cordon/result.h"
#include "plan/plan.h"
#include "spawn/kept_process.h"

namespace cordon::session {

struct ExternalProcess {
  spawn::KeptProcess process;
  int port = 0;  // of the host's loopback, where it listens
};

// Tells the command its port and lets it see this.
inline constexpr char kProxyPortVariable[] = "CORDON_PROXY_PORT";

// Nothing where the plan starts none. Otherwise it accepts connections by now. A
// command that is not found, ends, or does not listen in time is kExternalFailed.
Result<std::optional<ExternalProcess>> StartExternal(
    const std::map<std::string, std::string>& environment, const plan::Plan& plan);

}  // namespace cordon::session
