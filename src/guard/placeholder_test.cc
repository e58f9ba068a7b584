#include "guard/placeholder.h"

#include <gtest/gtest.h>

namespace cordon::guard {
namespace {

TEST(PlaceholderTest, KeepsTheFormAndNotTheSecret) {
  auto made = PlaceholderFor("ghp_Ab12Cd34Ef56Gh78Ij90", 0);
  ASSERT_TRUE(made);
  EXPECT_EQ(*made, "ghp_Co00On00Ac00Ol00Rc00");
}

TEST(PlaceholderTest, KeepsAKnownPrefixOfALongKeyOnly) {
  EXPECT_TRUE(PlaceholderFor("sk-ant-0123456789ABCdefghij", 0)->starts_with("sk-ant-"));
  EXPECT_TRUE(PlaceholderFor("AKIA0123456789ABCDEF", 0)->starts_with("AKIA"));
  EXPECT_FALSE(PlaceholderFor("sk-short123", 0)->starts_with("sk-"));
  EXPECT_EQ(PlaceholderFor("aZ3-9_KqT7mPx0LwYe2B", 0), "cO0-0_PlA0eHo0DeRc0R");
}

TEST(PlaceholderTest, TellsLittleOfASecretOfSigns) {
  for (std::string_view secret :
       {"!@#$%^&*()+=[]{}|:<>?,./~Ab3z", "................abcd", "k9-X_z3Q8f!w2#p0$Lm@vT",
        "--------------", "1234-5678-9012-3456", "00000000000", "cordonplaceholder"}) {
    auto made = PlaceholderFor(secret, 0);
    if (!made) continue;
    size_t same = 0;
    for (size_t i = 0; i < secret.size(); ++i) same += (*made)[i] == secret[i] ? 1 : 0;
    EXPECT_LE(same * 3, secret.size()) << secret << " " << *made;
    EXPECT_EQ(made->size(), secret.size());
  }
  EXPECT_TRUE(PlaceholderFor("................abcd", 0));
}

TEST(PlaceholderTest, DiffersByNumber) {
  constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
  EXPECT_NE(PlaceholderFor(kSecret, 0), PlaceholderFor(kSecret, 1));
}

TEST(PlaceholderTest, IsNotMadeForWhatCannotBeHidden) {
  EXPECT_FALSE(PlaceholderFor("short", 0));
  EXPECT_FALSE(PlaceholderFor("cordonplaceholder", 0));
  EXPECT_TRUE(PlaceholderFor("longer-secret", 0));
}

}  // namespace
}  // namespace cordon::guard
