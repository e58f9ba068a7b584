#include "backend/linux/landlock_tier.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>

#include "backend/init_protocol.h"
#include "backend/linux/seccomp_programs.h"
#include "sys/uapi.h"

namespace cordon::backend {
namespace {

plan::Plan SomePlan() {
  plan::Plan plan;
  plan.backend = host::Backend::kLandlock;
  plan.command = {{"make", "test"}, "/w"};
  plan.landlock_abi = 7;
  plan.net.host_network = true;
  plan.programs = {{"/usr", true, false}, {"/w", true, false}, {"/home/me/bin", true, true}};
  return plan;
}

TEST(CompileLandlock, MakesNoNamespaceAndMountsNothing) {
  ChildSpec spec = CompileLandlock(SomePlan());
  EXPECT_EQ(spec.namespaces, 0u);
  std::vector<Op> ops;
  for (const Step& step : spec.steps) ops.push_back(step.op);
  EXPECT_THAT(
      ops, testing::ElementsAre(Op::kJoinSession, Op::kUmask, Op::kChdir, Op::kLimit,
                                Op::kDropCapabilities, Op::kLandlock, Op::kSeccomp, Op::kExecInit));
}

TEST(CompileLandlock, LandlockGrantsNothingButToExecute) {
  LandlockRules rules = CompileLandlock(SomePlan()).landlock;
  EXPECT_EQ(rules.handled_fs, 0xffffu);
  EXPECT_EQ(rules.handled_net, uapi::kNetBindTcp | uapi::kNetConnectTcp);
  ASSERT_EQ(rules.rules.size(), 3u);
  for (const LandlockRule& rule : rules.rules) {
    EXPECT_EQ(rule.access, uapi::kFsExecute | uapi::kFsReadFile) << rule.path;
  }
  EXPECT_FALSE(rules.rules[0].optional);
  EXPECT_TRUE(rules.rules[2].optional);
}

TEST(CompileLandlock, InitIsScopedWhereTheKernelHasScopes) {
  plan::Plan plan = SomePlan();
  EXPECT_EQ(CompileLandlock(plan).init_options,
            std::string({kInitOptionSubreaper, kInitOptionScoped}));
  plan.landlock_abi = 5;
  ChildSpec older = CompileLandlock(plan);
  EXPECT_EQ(older.init_options, std::string(1, kInitOptionSubreaper));
  EXPECT_EQ(older.landlock.scoped, 0u);
  plan.landlock_abi = 3;
  EXPECT_EQ(CompileLandlock(plan).landlock.handled_net, 0u);
}

TEST(CompileLandlock, TheFilterIsTheModes) {
  plan::Plan plan = SomePlan();
  EXPECT_EQ(CompileLandlock(plan).seccomp.instructions, kSeccompLandlockNone);
  plan.net.host_ports = {5432};
  EXPECT_EQ(CompileLandlock(plan).seccomp.instructions, kSeccompLandlockProxy);
  plan.net.host_ports.clear();
  plan.net.mode = NetMode::kPublic;
  EXPECT_EQ(CompileLandlock(plan).seccomp.instructions, kSeccompLandlockProxy);
  plan.net.mode = NetMode::kOpen;
  ChildSpec open = CompileLandlock(plan);
  EXPECT_EQ(open.seccomp.instructions, kSeccompLandlockOpen);
  EXPECT_EQ(open.landlock.handled_net, 0u);
}

uint64_t ProcessLimit(const ChildSpec& spec) {
  auto limit = std::ranges::find_if(spec.steps, [](const Step& step) {
    return step.op == Op::kLimit && step.value == RLIMIT_NPROC;
  });
  return limit == spec.steps.end() ? 0 : limit->value2;
}

TEST(CompileLandlock, TheBrokerCountsProcessesAndNotTheKernel) {
  plan::Plan plan = SomePlan();
  plan.limits.processes = 8;
  ChildSpec spec = CompileLandlock(plan);
  EXPECT_EQ(ProcessLimit(spec), 0u);
  EXPECT_EQ(spec.seccomp.instructions, kSeccompCountedNone);
  // Without a broker the kernel has to, with all others of the user.
  EXPECT_EQ(ProcessLimit(CompileNone(plan, {.user_tasks = 100})), 100u + 8 + 1);
}

TEST(CompileNone, ContainsNothing) {
  ChildSpec spec = CompileNone(SomePlan(), {});
  EXPECT_EQ(spec.seccomp.size, 0);
  EXPECT_TRUE(spec.landlock.rules.empty());
  EXPECT_EQ(spec.steps.back().op, Op::kExecInit);
  EXPECT_EQ(spec.init_options, std::string(1, kInitOptionSubreaper));
}

}  // namespace
}  // namespace cordon::backend
