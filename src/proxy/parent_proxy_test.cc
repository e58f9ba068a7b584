#include "proxy/parent_proxy.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

bool Through(std::string_view no_proxy, std::string_view target) {
  return GoesThrough(*ParseParentProxy("http://proxy.test:3128", no_proxy),
                     *guard::ParseHostPort(target));
}

TEST(ParentProxy, ReadsTheUrl) {
  auto parent = ParseParentProxy("http://me:p%40ss@proxy.test:8080/", "");
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->kind, ParentProxy::Kind::kHttp);
  EXPECT_EQ(guard::ToString(parent->at), "proxy.test:8080");
  EXPECT_EQ(parent->user, "me");
  EXPECT_EQ(parent->password, "p@ss");
  EXPECT_EQ(BasicCredentials(*parent), "Basic bWU6cEBzcw==");
  EXPECT_EQ(ParseParentProxy("socks5h://10.0.0.1", "")->kind, ParentProxy::Kind::kSocks5);
  EXPECT_EQ(ParseParentProxy("socks5://10.0.0.1", "")->at.port, 1080);
  EXPECT_EQ(parent->transport, ParentProxy::Transport::kPlain);
  auto secure = ParseParentProxy("https://me:pw@proxy.test", "");
  ASSERT_TRUE(secure);
  EXPECT_EQ(secure->kind, ParentProxy::Kind::kHttp);
  EXPECT_EQ(secure->transport, ParentProxy::Transport::kTls);
  EXPECT_EQ(guard::ToString(secure->at), "proxy.test:443");
}

TEST(ParentProxy, RefusesWhatItCannotSpeak) {
  for (std::string_view url : {"ftp://proxy.test", "http://", "http://a b",
                               "http://x%2:y@proxy.test", "http://:y@proxy.test"}) {
    EXPECT_FALSE(ParseParentProxy(url, "")) << url;
  }
}

TEST(ParentProxy, NoProxyHasNamesSuffixesAndNetworks) {
  constexpr std::string_view kNone =
      "corp.test,.dot.test, *.star.test,10.0.0.0/8,192.0.2.1,b.test:81";
  for (std::string_view target :
       {"corp.test:443", "a.corp.test:443", "dot.test:80", "x.dot.test:80", "x.star.test:80",
        "10.200.0.1:80", "192.0.2.1:80", "b.test:81"}) {
    EXPECT_FALSE(Through(kNone, target)) << target;
  }
  for (std::string_view target : {"xcorp.test:443", "11.0.0.1:80", "192.0.2.2:80", "b.test:80"}) {
    EXPECT_TRUE(Through(kNone, target)) << target;
  }
  EXPECT_FALSE(Through("*", "any.test:80"));
  EXPECT_TRUE(Through("", "any.test:80"));
}

}  // namespace
}  // namespace cordon::proxy
