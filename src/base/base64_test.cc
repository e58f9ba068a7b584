#include "base/base64.h"

#include <gtest/gtest.h>

namespace cordon::base {
namespace {

TEST(Base64, GoesThereAndBack) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {std::string("\0\xff", 2), "AP8="}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes) << text;
  }
  EXPECT_EQ(FromBase64("Zg"), "f");
}

TEST(Base64, OtherTextIsNone) {
  for (const char* text : {"Z", "Zm9v!", "Zg===", "Zm 9v", "=Zm9v"}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cordon::base
