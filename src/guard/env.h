// Which environment variables may reach a contained command.
#pragma once

#include <string_view>

namespace cordon::guard {

// Names that make an interpreter, a loader or git run code of the sender's
// choice, or that point at a host socket: dropped in every mode.
bool IsDangerousVariable(std::string_view name);

// Names that `env.mode = "clean"` lets through: locale, terminal, paths, user.
bool IsCleanVariable(std::string_view name);

// A name that can be set at all: not empty, no '=' and no NUL.
bool IsValidVariableName(std::string_view name);

}  // namespace cordon::guard
