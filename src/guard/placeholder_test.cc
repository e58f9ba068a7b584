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
  EXPECT_TRUE(PlaceholderFor("tok-live-0123456789ABCdefghij", 0)->starts_with("tok-"));
  EXPECT_FALSE(PlaceholderFor("ab-cdefghij", 0)->starts_with("ab-"));
}

TEST(PlaceholderTest, DiffersByNumber) {
  constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
  EXPECT_NE(PlaceholderFor(kSecret, 0), PlaceholderFor(kSecret, 1));
}

TEST(PlaceholderTest, IsNotMadeForWhatCannotBeHidden) {
  EXPECT_FALSE(PlaceholderFor("short", 0));
  EXPECT_FALSE(PlaceholderFor("--------------", 0));
  EXPECT_TRUE(PlaceholderFor("longer-secret", 0));
}

}  // namespace
}  // namespace cordon::guard
