// What the command line says to people and to programs.
#pragma once

#include <string>
#include <string_view>

#include "cordon/result.h"

namespace cordon::cli {

enum class OutputForm { kText, kJson };

// Writes all of `text` to stdout; a reader that went away is not an error.
void Print(std::string_view text);
// To stderr. Nobody may be reading: that is no reason to end otherwise.
void Tell(std::string_view text);

// "cordon: MESSAGE" and the hint on stderr, or one JSON object on stdout:
// {"error": {"reason": …, "message": …, "hint": …}}.
void PrintError(const Error& error, OutputForm form = OutputForm::kText);

std::string JsonQuote(std::string_view text);

enum class Colour { kRed, kGreen, kDim };
// `text` in colour if stdout is a terminal and NO_COLOR is not set.
std::string Coloured(std::string_view text, Colour colour);

}  // namespace cordon::cli
