// Runs in: supervisor. Pure: built and tested on every platform.
//
// A plan as a Seatbelt profile: the rules that macOS's sandbox-exec enforces.
// The text is the same for every path; the paths, and the patterns made of
// them, are parameters (`-D`), so that no name can become a rule.
//
// The kernel takes the last rule that matches, and people have seen a rule for
// one operation win over a rule for a group of operations that holds it. The
// profile means the same either way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace cordon::backend {

struct SeatbeltOptions {
  // The run's own directory instead of a private /tmp: macOS has no mounts for
  // one. Canonical; needed where the plan's temp is private.
  std::string temp;
  int proxy_port = plan::kProxyPort;  // of the host's loopback
};

struct SeatbeltProfile {
  std::string text;
  std::vector<std::pair<std::string, std::string>> parameters;  // name, value
  std::vector<Enforcement> enforcement;                         // what this tier gives
  bool operator==(const SeatbeltProfile&) const = default;
};

Result<SeatbeltProfile> MakeSeatbeltProfile(const plan::Plan& plan, const SeatbeltOptions& options);

// The whole command line, by absolute path.
std::vector<std::string> SandboxExecArgv(const SeatbeltProfile& profile,
                                         const std::vector<std::string>& command);

// A path of the plan as macOS's kernel names it: /tmp, /var and /etc are links
// into /private.
std::string MacPath(std::string_view path);

}  // namespace cordon::backend
