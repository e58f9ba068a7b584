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
                                "http://1.2.3.4.5:80/",
                                "http:/x://y/",
                                "http:x://y/",
                                "http?x://y/",
                                "://a.test/"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
  }
  EXPECT_FALSE(ParseUrl(std::string_view("http://a.test\0.b/", 17)));
  EXPECT_FALSE(ParseUrl("http://a.test/" + std::string(20000, 'a')));
}

TEST(ParseUrl, UnicodeHostsAreTakenWhereAllReadThemAlike) {
  auto url = ParseUrl("https://b\u00fccher.example/\u00e4?\u00f6#x");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(ToString(*url), "https://xn--bcher-kva.example/%C3%A4?%C3%B6");
  EXPECT_TRUE(ParseUrl("http://b\u00fccher.EXAMPLE.:8080/"));
  for (std::string_view text :
       {"http://stra\u00dfe.example/", "http://\u03c2.example/", "http://a\u200db.example/",
        "http://\uff41.example/", "http://a\u3002example/", "http://B\u00dcCHER.example/",
        "http://\u2460\u2461\u2466.0.0.1/", "http://a\u00ad.example/", "http://\xff.example/"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
  }
}

TEST(ParseUrl, TellsWhatToAskFor) {
  EXPECT_EQ(ParseUrl("http://a.test")->resource, "/");
  EXPECT_EQ(ParseUrl("http://a.test?x")->resource, "/?x");
  EXPECT_EQ(ParseUrl("http://a.test/b/c?d=/#e")->resource, "/b/c?d=/");
  EXPECT_EQ(ToString(*ParseUrl("HTTP://A.test:80/x")), "http://a.test/x");
  EXPECT_EQ(ToString(*ParseUrl("https://[::1]:80/x")), "https://[::1]:80/x");
}

TEST(FollowRedirect, EveryHopIsReadAgain) {
  Url from = *ParseUrl("https://a.test:8443/b/c?d");
  auto next = [&](std::string_view location) {
    auto url = FollowRedirect(from, location);
    return url ? ToString(*url) : "refused";
  };
  EXPECT_EQ(next("https://b.test/x"), "https://b.test/x");
  EXPECT_EQ(next("//b.test/x"), "https://b.test/x");
  EXPECT_EQ(next("/x?y"), "https://a.test:8443/x?y");
  EXPECT_EQ(next("x/y"), "https://a.test:8443/b/x/y");
  EXPECT_EQ(next("?y"), "https://a.test:8443/b/c?y");
  EXPECT_EQ(next("#z"), "https://a.test:8443/b/");
  for (const char* location :
       {"http://b.test/", "file:///etc/passwd", "//u@b.test/", "\\\\b.test\\", "/x y",
        "https:b.test", "javascript:x", "///b.test/", "/\\b.test"}) {
    EXPECT_EQ(next(location), "refused") << location;
  }
  EXPECT_TRUE(FollowRedirect(*ParseUrl("http://a.test/"), "https://a.test/"));
}

}  // namespace
}  // namespace cordon::guard
