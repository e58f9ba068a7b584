#include "policy/host_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "guard/net_rules.h"
#include "policy/preset_data.h"

namespace cordon::policy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

TEST(HostLists, EachIsThere) {
  EXPECT_THAT(
      HostListNames(),
      IsSupersetOf({"@dev",    "@github", "@gitlab",   "@bitbucket", "@npm",      "@pypi",
                    "@crates", "@go",     "@docker",   "@debian",    "@ubuntu",   "@alpine",
                    "@fedora", "@llm",    "@maven",    "@gradle",    "@rubygems", "@packagist",
                    "@nuget",  "@hex",    "@hackage",  "@cpan",      "@conda",    "@huggingface",
                    "@node",   "@rust",   "@terraform"}));
}

TEST(HostLists, EveryMemberIsAPatternOrAListOfPatterns) {
  Node root = Unflatten(HostListData());
  for (const auto& [name, list] : root.members) {
    EXPECT_FALSE(list.items.empty()) << name;
    for (const Node& item : list.items) {
      if (!item.text.starts_with('@')) {
        auto pattern = guard::ParseHostPattern(item.text);
        ASSERT_TRUE(pattern) << item.text;
        EXPECT_EQ(guard::ToString(*pattern), item.text);
        continue;
      }
      EXPECT_EQ(name, "dev") << "only one list may hold lists";
      EXPECT_TRUE(ExpandHostList(item.text)) << item.text;
    }
  }
}

TEST(HostLists, DevHoldsTheOthersMembersOnce) {
  auto dev = ExpandHostList("@dev");
  ASSERT_TRUE(dev);
  for (const char* list : {"@github", "@npm", "@pypi", "@crates", "@docker"}) {
    EXPECT_THAT(*dev, IsSupersetOf(*ExpandHostList(list))) << list;
  }
  std::vector<std::string> sorted = *dev;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  EXPECT_THAT(*dev, Contains("**.github.com:22"));
}

TEST(HostLists, AnUnknownOneGetsAHint) {
  auto list = ExpandHostList("@gihub");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().reason, Reason::kPolicyBadValue);
  EXPECT_THAT(list.error().hint, HasSubstr("@github"));
  EXPECT_THAT(ExpandHostList("@").error().hint, HasSubstr("@npm"));
  EXPECT_EQ(*ExpandHosts("x.com"), std::vector<std::string>{"x.com"});
}

}  // namespace
}  // namespace cordon::policy
