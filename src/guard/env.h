// Which environment variables may reach a contained command.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cordon/result.h"

namespace cordon::guard {

// Names that make an interpreter, a loader or git run code of the sender's
// choice, or that point at a host socket: dropped in every mode.
bool IsDangerousVariable(std::string_view name);

// Names that `env.mode = "clean"` lets through: locale, terminal, paths, user.
bool IsCleanVariable(std::string_view name);

// A name that can be set at all: not empty, no '=' and no NUL.
bool IsValidVariableName(std::string_view name);

// Names that Cordon or the host sets and a tool call may not: PATH, HOME, the proxy's.
bool IsReservedVariable(std::string_view name);

// Names such as OPENAI_API_KEY, DB_PASSWORD, NPM_TOKEN; not PUBLIC_KEY or KEYBOARD.
bool LooksSecret(std::string_view name);

// Names that one program needs besides the clean ones, by its base name: CARGO_HOME for
// cargo. None of them makes it run something.
bool IsToolVariable(std::string_view program, std::string_view name);

struct VariableDecision {
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied
  std::string rule;                   // "a name that makes programs run code"
};

// May a tool call set this? Stricter than what can be set at all: a name is letters,
// digits and '_'; a value has no NUL and at most 128 KiB; dangerous names are
// refused in any case, and reserved and secret ones.
VariableDecision CheckVariable(std::string_view name, std::optional<std::string_view> value = {});

}  // namespace cordon::guard
