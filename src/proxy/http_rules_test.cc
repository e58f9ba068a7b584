#include "proxy/http_rules.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

const std::vector<HttpRule> kRules = {
    {.host = "api.example.test", .methods = {"GET", "HEAD"}, .paths = {"/v1/**", "/*.txt"}},
    {.host = "**.open.test", .methods = {}, .paths = {}},
    {.host = "post.example.test", .methods = {"POST"}, .paths = {}},
};

bool Allowed(std::string_view host, std::string_view method, std::string_view path) {
  return DecideRequest(kRules, *guard::ParseHost(host), method, path).allowed;
}

TEST(HttpRules, SpeakOnlyOfTheirHosts) {
  EXPECT_TRUE(HasHttpRules(kRules, *guard::ParseHost("api.example.test")));
  EXPECT_FALSE(HasHttpRules(kRules, *guard::ParseHost("other.test")));
  EXPECT_TRUE(Allowed("other.test", "DELETE", "/x"));
  EXPECT_TRUE(Allowed("a.open.test", "DELETE", "/x/../y"));
}

TEST(HttpRules, DecideMethodAndPath) {
  EXPECT_TRUE(Allowed("api.example.test", "GET", "/v1/a/b?c=/d"));
  EXPECT_TRUE(Allowed("api.example.test", "HEAD", "/robots.txt"));
  EXPECT_FALSE(Allowed("api.example.test", "POST", "/v1/a"));
  EXPECT_FALSE(Allowed("api.example.test", "get", "/v1/a"));
  EXPECT_FALSE(Allowed("api.example.test", "GET", "/v2/a"));
  EXPECT_FALSE(Allowed("api.example.test", "GET", "/a/b.txt"));
  EXPECT_TRUE(Allowed("post.example.test", "POST", "/any"));
  EXPECT_FALSE(Allowed("post.example.test", "GET", "/any"));
}

TEST(HttpRules, APathWithTwoReadingsMatchesNothing) {
  for (std::string_view path :
       {"/v1/../admin", "/v1/%2e%2e/admin", "/v1/%2E./admin", "/v1/..%2fadmin", "/v1//admin",
        "/v1/./a", "/v1/..", "/v1\\..\\admin", "/v1/%252e", "/v1/a;x", "/v1/%5cadmin", "/v1/%00"}) {
    EXPECT_FALSE(Allowed("api.example.test", "GET", path)) << path;
  }
  EXPECT_TRUE(Allowed("api.example.test", "GET", "/v1/a%20b/..c"));
}

TEST(HttpRules, AHostThatCannotBeReadDeniesAll) {
  std::vector<HttpRule> rules = {{.host = "*", .methods = {"GET"}, .paths = {}}};
  EXPECT_FALSE(DecideRequest(rules, *guard::ParseHost("a.test"), "GET", "/").allowed);
}

TEST(HttpRules, GlobsEndInTime) {
  std::string glob, path(4000, 'a');
  for (int i = 0; i < 100; ++i) glob += "*a";
  std::vector<HttpRule> rules = {{.host = "a.test", .methods = {}, .paths = {"/" + glob + "b"}}};
  EXPECT_FALSE(DecideRequest(rules, *guard::ParseHost("a.test"), "GET", "/" + path).allowed);
}

}  // namespace
}  // namespace cordon::proxy
