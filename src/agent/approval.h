// Whether a call may be made, must be asked for, or may not be made. Pure.
#pragma once

#include <string_view>

#include "agent/tool.h"
#include "cordon/result.h"

namespace cordon::agent {

enum class ApprovalMode { kPlan, kSafe, kAuto };
// Nobody can be asked on behalf of a sub-agent.
enum class AgentKind { kTopLevel, kSubAgent };
enum class Place { kInside, kOutside };      // of the project
enum class Containment { kFull, kNotFull };  // of what the call runs; kFull where it runs nothing
enum class Approval { kAllow, kAsk, kDeny };

// "auto", "yolo", "accept" · "safe", "confirm", "strict", "normal" · "plan", "readonly",
// "read-only".
Result<ApprovalMode> ParseApprovalMode(std::string_view name);
std::string_view ApprovalModeName(ApprovalMode mode);

struct ApprovalQuestion {
  ApprovalMode mode = ApprovalMode::kPlan;
  AgentKind agent = AgentKind::kTopLevel;
  Effect effect = Effect::kDestructive;
  Place place = Place::kOutside;
  Containment containment = Containment::kNotFull;
};
Approval DecideApproval(const ApprovalQuestion& question);

// A sub-agent has no more trust than the one that runs it has now.
ApprovalMode ChildMode(ApprovalMode parent, ApprovalMode child);

}  // namespace cordon::agent
