// Runs in: the process that is to be confined. macOS only; elsewhere a syntax
// check (tests/macos_syntax.py) keeps it from rotting.
#pragma once

#include "backend/macos/seatbelt_profile.h"
#include "cordon/result.h"

namespace cordon::backend {

// Confines this process, and all that it starts, for good. What it has open
// stays open.
Status ApplySeatbelt(const SeatbeltProfile& profile);

// Whether this machine takes the profile: a child confines itself with it and
// runs /usr/bin/true.
Status TrySeatbelt(const SeatbeltProfile& profile);

}  // namespace cordon::backend
