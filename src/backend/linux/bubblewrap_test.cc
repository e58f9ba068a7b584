#include "backend/linux/bubblewrap.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>

namespace cordon::backend {
namespace {

using plan::Region;
using plan::RegionSource;
using plan::Rights;
using testing::Not;

plan::Plan SomePlan() {
  plan::Plan plan;
  plan.backend = host::Backend::kBubblewrap;
  plan.bubblewrap = {.program = "/usr/bin/bwrap", .version = "0.8.0"};
  plan.net.routed = false;
  plan.command = {{"make", "test"}, "/w"};
  plan.landlock_abi = 7;
  plan.fs.temp_size = 1 << 20;
  plan.masked_system = {"/proc/kallsyms"};
  plan.fs.regions = {{"/", RegionSource::kHost, Rights::kReadOnly, true, 1, 2},
                     {"/w", RegionSource::kHost, Rights::kReadWrite, true, 1, 3},
                     {"/tmp", RegionSource::kPrivate, Rights::kReadWrite, true, 0, 0},
                     {"/w/.git", RegionSource::kHost, Rights::kReadWrite, true, 1, 4},
                     {"/w/.env", RegionSource::kMask, Rights::kReadOnly, false, 1, 5},
                     {"/w/keys", RegionSource::kMask, Rights::kReadOnly, true, 1, 6},
                     {"/w/.git/hooks", RegionSource::kHost, Rights::kReadOnly, true, 1, 7},
                     {"/w/keys/a/b", RegionSource::kHost, Rights::kReadOnly, true, 1, 8}};
  return plan;
}

// The arguments as one text, to look for what follows what.
std::string Text(const plan::Plan& plan) {
  ChildSpec spec = CompileBubblewrap(plan, {});
  std::string text = " ";
  for (const std::string& word : spec.bubblewrap->arguments) text += word + " ";
  return text;
}

MATCHER_P(Says, words, "") { return arg.find(" " + std::string(words) + " ") != std::string::npos; }

TEST(CompileBubblewrap, RegionsAreMountsOutermostFirst) {
  std::string text = Text(SomePlan());
  EXPECT_THAT(text, Says("--bind /w /w"));
  EXPECT_THAT(text, Says("--ro-bind /w/.git/hooks /w/.git/hooks"));
  EXPECT_THAT(text, Says("--perms 1777 --size 1048576 --tmpfs /tmp"));
  EXPECT_LT(text.find("--ro-bind / /"), text.find("--dev /dev"));
  EXPECT_LT(text.find("--bind /w /w"), text.find("--ro-bind /w/.git/hooks"));
}

TEST(CompileBubblewrap, MasksAreClosedAndSealedLast) {
  std::string text = Text(SomePlan());
  EXPECT_THAT(text, Says("--ro-bind /dev/null /w/.env"));
  EXPECT_THAT(text, Says("--ro-bind /dev/null /proc/kallsyms"));
  EXPECT_THAT(text, Says("--perms 0755 --tmpfs /w/keys"));
  // What lies within a mask can be walked to, but nothing on the way listed.
  for (const char* way : {"--chmod 0111 /w/keys", "--chmod 0111 /w/keys/a"}) {
    EXPECT_THAT(text, Says(way));
    EXPECT_LT(text.find("--ro-bind /w/keys/a/b"), text.find(way));
    EXPECT_LT(text.find(way), text.find("--remount-ro /w/keys"));
  }
}

TEST(CompileBubblewrap, APrivateRootIsSealed) {
  plan::Plan plan = SomePlan();
  plan.fs.regions[0] = {"/", RegionSource::kPrivate, Rights::kReadOnly, true, 0, 0};
  plan.fs.links = {{"/bin", "usr/bin"}, {"/w/link", "elsewhere"}};
  std::string text = Text(plan);
  EXPECT_THAT(text, Not(Says("--ro-bind / /")));
  EXPECT_THAT(text, Says("--symlink usr/bin /bin"));
  EXPECT_THAT(text, Not(Says("--symlink elsewhere /w/link")));  // that is the host's directory
  EXPECT_TRUE(text.ends_with("--remount-ro / "));
}

TEST(CompileBubblewrap, ASetuidOneGetsWhatItTakes) {
  plan::Plan plan = SomePlan();
  EXPECT_THAT(Text(plan), Says("--unshare-user --disable-userns"));
  plan.bubblewrap.setuid = true;
  EXPECT_THAT(Text(plan), Not(Says("--unshare-user")));
  EXPECT_THAT(Text(plan), Not(Says("--size")));
}

TEST(CompileBubblewrap, WithoutProc) {
  plan::Plan plan = SomePlan();
  plan.bubblewrap.proc = false;
  EXPECT_THAT(Text(plan), Not(Says("--proc")));
  EXPECT_THAT(Text(plan), Not(Says("/proc/kallsyms")));
}

TEST(CompileBubblewrap, TheNetworkIsItsOwnUnlessOpen) {
  plan::Plan plan = SomePlan();
  EXPECT_THAT(Text(plan), Says("--unshare-net"));
  plan.net.mode = NetMode::kOpen;
  EXPECT_THAT(Text(plan), Not(Says("--unshare-net")));
}

TEST(CompileBubblewrap, EveryRegionIsLookedAtFromInside) {
  plan::Plan plan = SomePlan();
  ChildSpec spec = CompileBubblewrap(plan, {});
  for (const Region& region : plan.fs.regions) {
    auto step = std::ranges::find_if(spec.steps, [&](const Step& one) {
      return one.op == Op::kCheckMount && one.path == region.path;
    });
    ASSERT_NE(step, spec.steps.end()) << region.path;
    EXPECT_EQ((step->value & kMountReadOnly) != 0, region.rights == Rights::kReadOnly);
    EXPECT_EQ((step->value & kMountClosed) != 0, region.source == RegionSource::kMask);
    bool known = region.source == RegionSource::kHost && region.path != "/";
    EXPECT_EQ(step->identity.inode, known ? region.inode : 0) << region.path;
  }
}

TEST(CompileBubblewrap, TheSameSecondAndThirdLayer) {
  ChildSpec spec = CompileBubblewrap(SomePlan(), {});
  size_t last = spec.steps.size() - 1;
  EXPECT_EQ(spec.steps[last].op, Op::kExecInit);
  EXPECT_EQ(spec.steps[last - 1].op, Op::kSeccomp);
  EXPECT_EQ(spec.steps[last - 2].op, Op::kLandlock);
  EXPECT_EQ(spec.steps[last - 3].op, Op::kDropCapabilities);
  EXPECT_EQ(spec.namespaces, 0u);
}

TEST(CompileBubblewrap, ProcessesOfTheUserCountWhereItMakesNoUserNamespace) {
  plan::Plan plan = SomePlan();
  plan.limits.processes = 10;
  auto limit = [&] {
    ChildSpec spec = CompileBubblewrap(plan, {.user_tasks = 100});
    for (const Step& step : spec.steps) {
      if (step.op == Op::kLimit && step.value == RLIMIT_NPROC) return step.value2;
    }
    return uint64_t{0};
  };
  EXPECT_EQ(limit(), 11u);
  plan.bubblewrap.setuid = true;
  EXPECT_EQ(limit(), 111u);
}

}  // namespace
}  // namespace cordon::backend
