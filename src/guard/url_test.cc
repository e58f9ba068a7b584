#include "guard/url.h"

#include <gtest/gtest.h>

#include <string>

namespace cordon::guard {
namespace {

TEST(ParseUrl, ReadsHostAndPort) {
  auto url = ParseUrl("HTTPS://Example.com./a?b=http://127.0.0.1/#c@d");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(ToString(url->target), "example.com:443");
  EXPECT_EQ(ToString(ParseUrl("http://a.test")->target), "a.test:80");
  EXPECT_EQ(ToString(ParseUrl("http://a.test:8080/x@y")->target), "a.test:8080");
  EXPECT_EQ(ToString(ParseUrl("http://[::1]:22/")->target), "[::1]:22");
  EXPECT_EQ(ToString(ParseUrl("http://1.2.3.4.evil.test/")->target), "1.2.3.4.evil.test:80");
  EXPECT_EQ(ToString(ParseUrl("http://1.2.3.4?x")->target), "1.2.3.4:80");
}

TEST(ParseUrl, RefusesWhatClientsReadDifferently) {
  for (std::string_view text : {"",
                                " ",
                                "a.test",
                                "//a.test/",
                                "http:",
                                "http:a.test",
                                "http:/a.test",
                                "http://",
                                "http:///a.test/",
                                "http:\\\\a.test\\",
                                "http://a.test\\@b.test/",
                                "http://u@a.test/",
                                "http://u:p@a.test/",
                                "http://@a.test/",
                                "http://a.test:/",
                                "http://a.test:0/",
                                "http://a.test:65536/",
                                "http://a.test:-1/",
                                "http://a.test:080/",
                                "ftp://a.test/",
                                "file:///etc/passwd",
                                "jar:http://a.test!/",
                                "data:,x",
                                "httpx://a.test/",
                                "http://a b.test/",
                                "http://a.test /",
                                " http://a.test/",
                                "http://a.test/ ",
                                "ht\ntp://a.test/",
                                "http://a.test\t/",
                                "http://a.test/\r\nHost: b",
                                "http://%61.test/",
                                "http://a.test%2f@b/",
                                "http://a.test%00.b/",
                                "http://[::1/",
                                "http://[]/",
                                "http://[::1%25lo]/",
                                "http://[v1.a]/",
                                "http://127.1/",
                                "http://0x7f.1/",
                                "http://a..b/",
                                "http://.a.test/",
                                "http://%/",
                                "http://\u24dbocalhost/",
                                "http://*.a.test/",
                                "http://1.2.3.4.5/",
                                "http://1.2.3.4x:80x/",
                                "http://[::1]x/",
                                "http://a.test:80x/",
                                "http://1.2.3.4%41/",
                                "http://1.2.3.4.5:80/"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
  }
  EXPECT_FALSE(ParseUrl(std::string_view("http://a.test\0.b/", 17)));
  EXPECT_FALSE(ParseUrl("http://a.test/" + std::string(20000, 'a')));
}

}  // namespace
}  // namespace cordon::guard
