#include "base/strings.h"

#include <gtest/gtest.h>

namespace cordon::base {
namespace {

TEST(Utf8Prefix, NeverCutsASequence) {
  std::string text = "aé€𝄞";  // 1 + 2 + 3 + 4 bytes
  size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (size_t limit = 0; limit <= 10; ++limit) {
    EXPECT_EQ(Utf8Prefix(text, limit).size(), whole[limit]) << limit;
  }
}

TEST(Utf8Prefix, CutsBytesThatAreNotUtf8AtTheLimit) {
  EXPECT_EQ(Utf8Prefix("\xff\xff\xff\xff", 2).size(), 2u);
}

TEST(IncompleteUtf8Tail, CountsWhatBeginsASequence) {
  EXPECT_EQ(IncompleteUtf8Tail("a\xc3"), 1u);
  EXPECT_EQ(IncompleteUtf8Tail("a\xe2\x82"), 2u);
  EXPECT_EQ(IncompleteUtf8Tail("a\xf0\x9d\x84"), 3u);
  EXPECT_EQ(IncompleteUtf8Tail("a\u00e9"), 0u);
  EXPECT_EQ(IncompleteUtf8Tail("\x80\x80\x80\x80"), 0u);
  EXPECT_EQ(IncompleteUtf8Tail(""), 0u);
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("a\x1b]52;c;x\x07"), "a\\x1b]52;c;x\\x07");
  EXPECT_EQ(Printable("caf\xc3\xa9 \xff"), "caf\xc3\xa9 \\xff");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");  // C1 CSI
  EXPECT_EQ(Printable("\x9b\x31m \u2028 \u2066 \u061c"),
            "\\x9b1m \\xe2\\x80\\xa8 \\xe2\\x81\\xa6 \\xd8\\x9c");
  EXPECT_EQ(Printable("a\u202eb\u200bc"), "a\\xe2\\x80\\xaeb\\xe2\\x80\\x8bc");
}

TEST(Nearest, FindsATypoAndNothingForAStranger) {
  EXPECT_EQ(Nearest("denyread", {"deny_read", "write"}), "deny_read");
  EXPECT_EQ(Nearest("zzzzzz", {"deny_read", "write"}), std::nullopt);
}

}  // namespace
}  // namespace cordon::base
