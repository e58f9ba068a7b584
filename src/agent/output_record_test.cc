#include "agent/output_record.h"

#include <gtest/gtest.h>

#include "agent/running_command.h"
#include "base/strings.h"

namespace cordon::agent {
namespace {

TEST(OutputRecord, ShowsAllOfALittle) {
  OutputRecord record;
  record.Add("hello ");
  record.Add("world\n");
  ShownOutput shown = record.Show(100, "ask");
  EXPECT_EQ(shown.text, "hello world\n");
  EXPECT_EQ(shown.total, 12u);
  EXPECT_EQ(shown.cut, 0u);
}

TEST(OutputRecord, KeepsHeadAndTail) {
  OutputRecord record;
  record.Add("begin" + std::string(1000, 'x') + "end");
  ShownOutput shown = record.Show(100, "ask there");
  EXPECT_TRUE(shown.text.starts_with("begin"));
  EXPECT_TRUE(shown.text.ends_with("end"));
  EXPECT_NE(shown.text.find("[output truncated: showed 100 of 1008 bytes"), std::string::npos);
  EXPECT_NE(shown.text.find("ask there"), std::string::npos);
  EXPECT_EQ(shown.cut, 908u);
}

// A flood past what is kept still ends with its last words.
TEST(OutputRecord, KeepsTheTailOfAFlood) {
  OutputRecord record;
  std::string chunk(100'000, 'x');
  for (int i = 0; i < 100; ++i) record.Add(chunk);
  record.Add("the last words");
  ShownOutput shown = record.Show(50'000, "");
  EXPECT_TRUE(shown.text.ends_with("the last words"));
  EXPECT_EQ(shown.total, 10'000'014u);
  EXPECT_LT(shown.text.size(), 50'200u);
  OutputRecord::Part part = record.From(record.total() - 5, 100);
  EXPECT_EQ(part.text, "words");
  EXPECT_EQ(part.next, record.total());
}

// Wherever the cut falls, the text is UTF-8 and no character is broken.
TEST(OutputRecord, CutsBetweenCharacters) {
  std::string text;
  while (text.size() < 3000) text += "aé漢🎉";
  OutputRecord record;
  for (size_t i = 0; i < text.size(); i += 7) record.Add(std::string_view(text).substr(i, 7));
  for (size_t limit = 90; limit < 110; ++limit) {
    ShownOutput shown = record.Show(limit, "");
    EXPECT_TRUE(base::IsValidUtf8(shown.text)) << limit;
    EXPECT_EQ(shown.text.find("\xef\xbf\xbd"), std::string::npos) << limit;
    std::string all;
    for (OutputRecord::Part part; part.next < record.total();) {
      part = record.From(part.next, limit);
      ASSERT_FALSE(part.text.empty());
      all += part.text;
    }
    EXPECT_EQ(all, text) << limit;
  }
}

TEST(OutputRecord, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(ToUtf8("a\xff\xc3z"), "a\xef\xbf\xbd\xef\xbf\xbdz");
  EXPECT_EQ(ToUtf8("é"), "é");
}

TEST(OutputRecord, FindsTheLastLine) {
  OutputRecord record;
  EXPECT_EQ(record.LastLine(), "");
  record.Add("one\ntwo\nPassword: ");
  EXPECT_EQ(record.LastLine(), "Password:");
  record.Add("\n\n");
  EXPECT_EQ(record.LastLine(), "Password:");
}

TEST(RunningCommand, KnowsPrompts) {
  for (const char* prompt : {"Password:", "Overwrite x? [y/N]", "Are you sure",
                             "Do you want to "
                             "continue? [Y/n]",
                             "Enter passphrase for key", "Proceed (yes/no)?"}) {
    EXPECT_TRUE(LooksLikePrompt(prompt)) << prompt;
  }
  for (const char* line : {"", "compiling a.c", "checking for gcc... ", "the year/no matter"}) {
    EXPECT_FALSE(LooksLikePrompt(line)) << line;
  }
}

}  // namespace
}  // namespace cordon::agent
