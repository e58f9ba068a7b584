// The small languages inside a command line: what a sed script or an awk program does
// besides printing. Where it is not sure, kUnknown.
#pragma once

#include <string_view>

#include "guard/command_effects.h"

namespace cordon::guard {

Effect JudgeSedScript(std::string_view script);
Effect JudgeAwkProgram(std::string_view program);

}  // namespace cordon::guard
