// What all exports say in the same way: the environment and the enforcement.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace cordon::cli {

struct ExportedVariable {
  std::string name;
  std::string value;    // empty where it is passed on
  bool passed = false;  // the caller's own: its value may be a secret and is not exported
};

std::vector<ExportedVariable> ExportedEnvironment(const plan::Plan& plan);

// {"set": {NAME: VALUE}, "pass": [NAME]}
nlohmann::ordered_json EnvironmentJson(const plan::Plan& plan);
// {FEATURE: {"level", "mechanism", "note"}}
nlohmann::ordered_json EnforcementJson(const std::vector<Enforcement>& enforcement);

// One line for each feature that the target enforces in part or not at all.
std::vector<std::string> NotInFull(const std::vector<Enforcement>& enforcement);

// Refuses what the target cannot give: what `require` names must be full, and a
// limit that was asked for must be there, or the policy says
// on_unavailable = "warn".
Status CheckCarried(const Policy& policy, const std::vector<Enforcement>& enforcement);

}  // namespace cordon::cli
