#include "agent/approval.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::agent {
namespace {

constexpr std::array<std::pair<std::string_view, ApprovalMode>, 10> kNames = {{
    {"auto", ApprovalMode::kAuto},
    {"yolo", ApprovalMode::kAuto},
    {"accept", ApprovalMode::kAuto},
    {"safe", ApprovalMode::kSafe},
    {"confirm", ApprovalMode::kSafe},
    {"strict", ApprovalMode::kSafe},
    {"normal", ApprovalMode::kSafe},
    {"plan", ApprovalMode::kPlan},
    {"readonly", ApprovalMode::kPlan},
    {"read-only", ApprovalMode::kPlan},
}};

Approval ForSubAgent(const ApprovalQuestion& question) {
  if (question.mode == ApprovalMode::kPlan) return Approval::kDeny;
  bool grave = question.effect == Effect::kDestructive || question.place == Place::kOutside ||
               question.containment == Containment::kNotFull;
  return grave ? Approval::kDeny : Approval::kAllow;
}

}  // namespace

Result<ApprovalMode> ParseApprovalMode(std::string_view name) {
  auto found = std::ranges::find(kNames, name, &std::pair<std::string_view, ApprovalMode>::first);
  if (found != kNames.end()) return found->second;
  return base::InvalidArgument(
      Reason::kUsage, "approvals are auto, safe or plan, not \"" + base::Printable(name) + "\"");
}

std::string_view ApprovalModeName(ApprovalMode mode) {
  switch (mode) {
    case ApprovalMode::kPlan:
      return "plan";
    case ApprovalMode::kSafe:
      return "safe";
    case ApprovalMode::kAuto:
      return "auto";
  }
  return "plan";
}

Approval DecideApproval(const ApprovalQuestion& question) {
  if (question.effect == Effect::kReadOnly) return Approval::kAllow;
  if (question.agent == AgentKind::kSubAgent) return ForSubAgent(question);
  switch (question.mode) {
    case ApprovalMode::kPlan:
      return Approval::kDeny;
    case ApprovalMode::kSafe:
      return Approval::kAsk;
    case ApprovalMode::kAuto:
      break;
  }
  bool grave = question.effect == Effect::kDestructive || question.place == Place::kOutside ||
               question.containment == Containment::kNotFull;
  return grave ? Approval::kAsk : Approval::kAllow;
}

ApprovalMode ChildMode(ApprovalMode parent, ApprovalMode child) { return std::min(parent, child); }

}  // namespace cordon::agent
