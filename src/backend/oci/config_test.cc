#include "backend/oci/config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "host/fake_paths.h"

namespace cordon::backend {
namespace {

using testing::Contains;
using testing::HasSubstr;

class OciTest : public testing::Test {
 protected:
  OciTest() {
    paths_.Directory("/w/.git/hooks").File("/w/.env").Directory("/home/me/.ssh");
    paths_.File("/home/me/.ssh/known_hosts").Directory("/usr/bin").Link("/bin", "usr/bin");
    paths_.Directory("/tmp").Directory("/var/tmp").Directory("/proc").Directory("/dev");
    policy_.fs.read = {{.path = "/"}};
    policy_.fs.write = {{.path = "/w"}};
    policy_.fs.temp = TempMode::kPrivate;
    policy_.fs.deny_read = {{.path = "/w/.env"}, {.path = "/home/me/.ssh"}};
    policy_.fs.allow_read_within_deny = {{.path = "/home/me/.ssh/known_hosts"}};
  }
  Result<OciBundle> Make() {
    Result<plan::Plan> plan = plan::MakePlan({.policy = policy_,
                                              .facts = facts_,
                                              .probe = paths_,
                                              .command = {{"true"}, "/w"},
                                              .workspace = "/w"});
    if (!plan) return std::unexpected(plan.error());
    return MakeOciBundle(*plan, paths_, {.bundle = "/b", .uid = 1000, .gid = 1000});
  }
  nlohmann::json Config() {
    Result<OciBundle> bundle = Make();
    EXPECT_TRUE(bundle);
    if (!bundle) return {};
    entries_ = bundle->entries;
    return nlohmann::json::parse(bundle->entries.back().data);
  }
  // Where in the order of mounts `path` is, or the number of mounts.
  static size_t Place(const nlohmann::json& config, const std::string& path) {
    size_t place = 0;
    for (const auto& mount : config["mounts"]) {
      if (mount["destination"] == path) return place;
      ++place;
    }
    return place;
  }

  host::FakePaths paths_;
  Policy policy_;
  host::Facts facts_{.landlock_abi = 7, .uid = 1000, .gid = 1000, .home = "/home/me"};
  std::vector<BundleEntry> entries_;
};

TEST_F(OciTest, WhatIsInTheRootIsMountedAndItsLinksAreThere) {
  nlohmann::json config = Config();
  EXPECT_LT(Place(config, "/usr"), config["mounts"].size());
  EXPECT_EQ(Place(config, "/bin"), config["mounts"].size());
  EXPECT_THAT(entries_,
              Contains(BundleEntry{BundleEntry::Kind::kLink, "rootfs/bin", "usr/bin", 0777}));
  nlohmann::json usr = config["mounts"][Place(config, "/usr")];
  EXPECT_THAT(usr["options"], Contains("rro"));
}

TEST_F(OciTest, InnerMountsComeAfterOuterOnes) {
  nlohmann::json config = Config();
  EXPECT_LT(Place(config, "/w"), Place(config, "/w/.git"));
  EXPECT_LT(Place(config, "/w/.git"), Place(config, "/w/.git/hooks"));
  EXPECT_LT(Place(config, "/home/me/.ssh"), Place(config, "/home/me/.ssh/known_hosts"));
  EXPECT_LT(Place(config, "/home/me/.ssh/known_hosts"), config["mounts"].size());
}

TEST_F(OciTest, AMaskIsClosedAndWhatIsAllowedWithinCanBeWalkedTo) {
  nlohmann::json config = Config();
  EXPECT_EQ(config["mounts"][Place(config, "/w/.env")]["source"], "/b/masks/file");
  EXPECT_THAT(entries_, Contains(BundleEntry{BundleEntry::Kind::kFile, "masks/file", "", 0}));
  std::string mask = config["mounts"][Place(config, "/home/me/.ssh")]["source"];
  std::string below = mask.substr(3);  // without "/b/"
  EXPECT_THAT(entries_, Contains(BundleEntry{BundleEntry::Kind::kDirectory, below, "", 0111}));
  EXPECT_THAT(entries_,
              Contains(BundleEntry{BundleEntry::Kind::kFile, below + "/known_hosts", "", 0644}));
}

TEST_F(OciTest, AnEntryIsMadeOnceAndAfterItsDirectory) {
  Config();
  std::vector<std::string> made;
  for (const BundleEntry& entry : entries_) {
    EXPECT_THAT(made, testing::Not(Contains(entry.path)));
    size_t slash = entry.path.rfind('/');
    if (slash != std::string::npos) {
      EXPECT_THAT(made, Contains(entry.path.substr(0, slash)));
    }
    made.push_back(entry.path);
  }
}

TEST_F(OciTest, AUserNamespaceIsForThoseWhoAreNotRoot) {
  nlohmann::json config = Config();
  EXPECT_EQ(config["linux"]["uidMappings"][0]["containerID"], 1000);
  EXPECT_THAT(config["linux"]["namespaces"], Contains(nlohmann::json{{"type", "user"}}));
}

TEST_F(OciTest, SeccompRefusesWhatTheProgramsRefuse) {
  nlohmann::json rules = Config()["linux"]["seccomp"]["syscalls"];
  EXPECT_THAT(rules[0]["names"], Contains("mount"));
  EXPECT_THAT(rules[1]["names"], Contains("io_uring_setup"));
  for (const auto& rule : rules) {
    EXPECT_TRUE(rule["names"].is_array()) << rule;
    EXPECT_TRUE(!rule.contains("args") || rule["args"].is_array()) << rule;
  }
}

TEST_F(OciTest, EgressByNameIsRefused) {
  policy_.net.mode = NetMode::kProxy;
  Result<OciBundle> bundle = Make();
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().reason, Reason::kUnsupported);
  EXPECT_THAT(bundle.error().message, HasSubstr("net.mode"));
}

TEST_F(OciTest, ANameThatIsNotUtf8IsRefused) {
  paths_.Directory("/w/\xff");
  policy_.fs.deny_write = {{.path = "/w/\xff"}};
  Result<OciBundle> bundle = Make();
  ASSERT_FALSE(bundle);
  EXPECT_THAT(bundle.error().message, HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace cordon::backend
