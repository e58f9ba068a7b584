// Runs in: supervisor. Pure.
//
// The parts of a Seatbelt profile that no plan changes, and what this tier can
// enforce. Names of services and kernel variables are those that common tools
// were seen to need; each widens the boundary, so the list is short.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace cordon::backend {

// Nothing, but what every process needs to start.
extern const char kDenyDefault[];
// Everything, but what would start a process outside of the profile, or give a
// protected file a second name.
extern const char kAllowDefault[];
// Those that any command may use. Other terminals of the user are not among
// them: one that was opened inside carries the extension.
extern const char kDevices[];
// macOS's own links at the root.
extern const char kLinks[];
extern const char kProxiedNetwork[];
extern const char kOpenNetwork[];
extern const char kOpenLessSockets[];
// Unix sockets in the run's own directory, where no other's can be.
extern const char kOwnSockets[];

std::vector<Enforcement> SeatbeltEnforcement(const plan::Plan& plan);

}  // namespace cordon::backend
