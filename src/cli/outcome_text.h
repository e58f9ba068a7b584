// An Outcome for programs and for people.
#pragma once

#include <string>

#include "cordon/outcome.h"

namespace cordon::cli {

std::string OutcomeJson(const Outcome& outcome);

// What a person should know after a run: why it ended if not by itself, what it
// was denied and by which rule. Empty when there is nothing to say.
std::string OutcomeNotice(const Outcome& outcome);

}  // namespace cordon::cli
