// What `cordon export seatbelt` prints.
#pragma once

#include <string>

#include "backend/macos/seatbelt_profile.h"
#include "plan/plan.h"

namespace cordon::cli {

// In the exported forms the run's own temporary directory is not made yet: this
// stands for it.
inline constexpr char kTempPlaceholder[] = "/private/tmp/cordon";

// A script for a Mac's /bin/sh: makes the temporary directory, sets limits and
// environment, and runs the command under the profile. Values of variables that
// are passed on are taken where it runs, and are not in it.
std::string SeatbeltScript(const plan::Plan& plan, const backend::SeatbeltProfile& profile);

// Profile, parameters, command, environment and enforcement, for programs.
std::string SeatbeltJson(const plan::Plan& plan, const backend::SeatbeltProfile& profile);

}  // namespace cordon::cli
