// The modes that people know a sandbox by, what they are called, and what a model is
// told of them. The policy is what holds; this is what is said about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/outcome.h"
#include "cordon/policy.h"

namespace cordon::agent {

enum class Mode { kSandbox, kRx, kRwx, kCustom };

// By the presets that a policy began with: the last that is a mode, or kCustom.
Mode ModeOf(const std::vector<std::string>& presets);
std::string_view ModeName(Mode mode);         // "sandbox"
std::string_view ModeDisplayName(Mode mode);  // "Sandbox: workspace only"

// For a model's instructions; empty for rwx.
std::string ConstraintText(Mode mode, const Policy& policy, const std::string& workspace);

// What was asked for and what is the case are two things.
enum class ContainmentState { kDisabled, kActive, kPartial, kInert };
ContainmentState ContainmentOf(std::string_view backend,
                               const std::vector<Enforcement>& enforcement);
std::string_view ContainmentStateName(ContainmentState state);

// Variables by which an agent's program knows that it runs within itself: not for the
// provider's program when we start it.
bool IsNestedAgentVariable(std::string_view name);

}  // namespace cordon::agent
