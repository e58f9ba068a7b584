#include "cli/ignore_rules.h"

#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

using Kind = IgnoreRules::Kind;
using Answer = IgnoreRules::Answer;

TEST(IgnoreRules, ANameMatchesInEveryFolder) {
  IgnoreRules rules("*.log\n# a comment\n\nbuild/\n");
  EXPECT_EQ(rules.Ask("a.log", Kind::kFile), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("x/y/a.log", Kind::kFile), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("a.logs", Kind::kFile), Answer::kNothing);
  EXPECT_EQ(rules.Ask("x/build", Kind::kFolder), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("x/build", Kind::kFile), Answer::kNothing);
  EXPECT_EQ(rules.Ask("# a comment", Kind::kFile), Answer::kNothing);
}

TEST(IgnoreRules, ASlashAnchorsAndTheLastPatternWins) {
  IgnoreRules rules("/out\nsrc/*.o\n*.o\n!keep.o\r\n");
  EXPECT_EQ(rules.Ask("out", Kind::kFolder), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("x/out", Kind::kFolder), Answer::kNothing);
  EXPECT_EQ(rules.Ask("src/a.o", Kind::kFile), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("src/keep.o", Kind::kFile), Answer::kKept);
}

TEST(IgnoreRules, TwoStarsCrossFolders) {
  IgnoreRules rules("a/**/z\nlogs/**\n");
  EXPECT_EQ(rules.Ask("a/z", Kind::kFile), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("a/b/c/z", Kind::kFile), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("b/a/z", Kind::kFile), Answer::kNothing);
  EXPECT_EQ(rules.Ask("logs/x/y", Kind::kFile), Answer::kIgnored);
  EXPECT_EQ(rules.Ask("logs", Kind::kFolder), Answer::kNothing);
}

}  // namespace
}  // namespace cordon::cli
