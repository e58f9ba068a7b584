#include "agent/approval.h"

#include <gtest/gtest.h>

namespace cordon::agent {
namespace {

constexpr ApprovalMode kModes[] = {ApprovalMode::kPlan, ApprovalMode::kSafe, ApprovalMode::kAuto};

// One row: the decisions in plan, safe and auto.
std::string Row(AgentKind agent, Effect effect, Place place = Place::kInside,
                Containment containment = Containment::kFull) {
  std::string row;
  for (ApprovalMode mode : kModes) {
    Approval approval = DecideApproval({mode, agent, effect, place, containment});
    row += approval == Approval::kAllow ? 'a' : approval == Approval::kAsk ? '?' : 'd';
  }
  return row;
}

TEST(Approval, TopLevelMatrix) {
  constexpr AgentKind kTop = AgentKind::kTopLevel;
  EXPECT_EQ(Row(kTop, Effect::kReadOnly), "aaa");
  EXPECT_EQ(Row(kTop, Effect::kLocalMutation), "d?a");
  EXPECT_EQ(Row(kTop, Effect::kRemoteAction), "d?a");
  EXPECT_EQ(Row(kTop, Effect::kDestructive), "d??");
  EXPECT_EQ(Row(kTop, Effect::kLocalMutation, Place::kOutside), "d??");
}

TEST(Approval, SubAgentMatrix) {
  constexpr AgentKind kSub = AgentKind::kSubAgent;
  EXPECT_EQ(Row(kSub, Effect::kReadOnly), "aaa");
  EXPECT_EQ(Row(kSub, Effect::kLocalMutation), "daa");
  EXPECT_EQ(Row(kSub, Effect::kRemoteAction), "daa");
  EXPECT_EQ(Row(kSub, Effect::kDestructive), "ddd");
  EXPECT_EQ(Row(kSub, Effect::kLocalMutation, Place::kOutside), "ddd");
}

// Nothing runs unasked because of a containment that is not there.
TEST(Approval, AutoNeedsContainment) {
  EXPECT_EQ(
      Row(AgentKind::kTopLevel, Effect::kLocalMutation, Place::kInside, Containment::kNotFull),
      "d??");
  EXPECT_EQ(
      Row(AgentKind::kSubAgent, Effect::kLocalMutation, Place::kInside, Containment::kNotFull),
      "ddd");
}

TEST(Approval, TheDefaultQuestionIsDenied) { EXPECT_EQ(DecideApproval({}), Approval::kDeny); }

TEST(Approval, NamesAndAliases) {
  for (const char* name : {"auto", "yolo", "accept"}) {
    EXPECT_EQ(*ParseApprovalMode(name), ApprovalMode::kAuto);
  }
  EXPECT_EQ(*ParseApprovalMode("confirm"), ApprovalMode::kSafe);
  EXPECT_EQ(*ParseApprovalMode("read-only"), ApprovalMode::kPlan);
  EXPECT_FALSE(ParseApprovalMode("Auto"));
  EXPECT_FALSE(ParseApprovalMode(""));
}

TEST(Approval, AChildHasNoMoreTrustThanItsParent) {
  for (ApprovalMode parent : kModes) {
    for (ApprovalMode child : kModes) {
      EXPECT_LE(ChildMode(parent, child), parent);
      EXPECT_LE(ChildMode(parent, child), child);
    }
  }
}

}  // namespace
}  // namespace cordon::agent
