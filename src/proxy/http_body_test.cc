#include "proxy/http_body.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

struct Passed {
  bool ok = false;
  bool done = false;
  size_t taken = 0;
  std::string out;
};

Passed Pass(BodyFraming framing, std::string_view bytes, size_t piece) {
  BodyReader reader(framing);
  Passed passed{.ok = true};
  while (passed.taken < bytes.size() && !reader.done()) {
    auto taken = reader.Read(bytes.substr(passed.taken, piece), passed.out);
    if (!taken) return {};
    passed.taken += *taken;
  }
  passed.done = reader.done();
  return passed;
}

constexpr BodyFraming kChunks{BodyKind::kChunked, 0};

TEST(BodyReader, EndsWithItsLength) {
  Passed passed = Pass({BodyKind::kLength, 5}, "helloGET /", 3);
  EXPECT_TRUE(passed.done);
  EXPECT_EQ(passed.out, "hello");
  EXPECT_EQ(passed.taken, 5u);
  EXPECT_TRUE(BodyReader({BodyKind::kLength, 0}).done());
}

TEST(BodyReader, FramesChunksAnew) {
  std::string_view body =
      "5;name=value\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET /";
  Passed whole = Pass(kChunks, body, body.size());
  EXPECT_TRUE(whole.done);
  EXPECT_EQ(whole.out, "5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n");
  EXPECT_EQ(body.substr(whole.taken), "GET /");
  Passed bytewise = Pass(kChunks, body, 1);
  EXPECT_TRUE(bytewise.done);
  EXPECT_EQ(bytewise.taken, whole.taken);
}

TEST(BodyReader, RefusesChunksThatTwoReadersSeeDifferently) {
  for (std::string_view body :
       {"+5\r\nhello\r\n", "-1\r\n", "0x5\r\nhello\r\n", " 5\r\nhello\r\n", "5 \r\nhello\r\n",
        "\r\n0\r\n\r\n", "5\nhello\r\n", "5\r\nhello!\r\n", "5\r\nhello\n0\r\n\r\n", "g\r\n",
        "5;a\rb\r\nhello\r\n", "ffffffffffffffff\r\n", "10000000000000000\r\n", ";x\r\n"}) {
    EXPECT_FALSE(Pass(kChunks, body, body.size()).ok) << body;
    EXPECT_FALSE(Pass(kChunks, body, 1).ok) << body;
  }
  EXPECT_FALSE(Pass(kChunks, "5;" + std::string(5000, 'x'), 100).ok);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 1000; ++i) trailers += "Trailer: of some length\r\n";
  EXPECT_FALSE(Pass(kChunks, trailers, 4096).ok);
}

}  // namespace
}  // namespace cordon::proxy
