#include "proxy/http_rules.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

const std::vector<HttpRule> kRules = {
    {.host = "api.example.test", .methods = {"GET", "HEAD"}, .paths = {"/v1/**", "/*.txt"}},
    {.host = "**.open.test", .methods = {}, .paths = {}},
    {.host = "post.example.test", .methods = {"POST"}, .paths = {}},
};

bool May(const std::vector<HttpRule>& rules, std::string_view host, std::string_view method,
         std::string_view path, std::vector<HeaderField> fields = {}) {
  RequestHead head;
  head.method = method;
  head.fields = std::move(fields);
  return DecideRequest(rules, *guard::ParseHostPort(host, 443), head, path).allowed;
}

bool Allowed(std::string_view host, std::string_view method, std::string_view path) {
  return May(kRules, host, method, path);
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
  for (std::string_view path : {"/v1/../admin",
                                "/v1/%2e%2e/admin",
                                "/v1/%2E./admin",
                                "/v1/..%2fadmin",
                                "/v1//admin",
                                "/v1/./a",
                                "/v1/..",
                                "/v1\\..\\admin",
                                "/v1/%252e",
                                "/v1/a;x",
                                "/v1/%5cadmin",
                                "/v1/%00",
                                "/v1/a#/../x",
                                "/v1/a%23",
                                "/v1/a%3bx",
                                "/v1/a%3Fx",
                                "/v1/%0a",
                                "/v1/%0D",
                                "/v1/%09",
                                "/v1/..%20/admin",
                                "/v1/%20../x",
                                "/v1/%20",
                                "/v1/.../x",
                                "/v1/%e0%80%ae",
                                "/v1/%c0%af",
                                "/v1/%ef%bc%8e%ef%bc%8e/x",
                                "/v1/%EF%BC%8F",
                                "/v1/caf%c3%a9",
                                "/v1/caf\xc3\xa9",
                                "/v1/%7f",
                                "/v1/%",
                                "/v1/%2",
                                "/v1/%zz",
                                "/v1/%+1",
                                "/v1/a|b",
                                "/v1/\"",
                                "/v1/{x}",
                                "/v1/a^b",
                                "v1/a"}) {
    EXPECT_FALSE(Allowed("api.example.test", "GET", path)) << path;
  }
  for (std::string_view path : {"/v1/a%20b/..c", "/v1/", "/v1/a:b@c,d=e", "/v1/.well-known/~x",
                                "/v1/%41%7B%22", "/v1/a?b=/../c", "/v1/x(1)*!$&'+"}) {
    EXPECT_TRUE(Allowed("api.example.test", "GET", path)) << path;
  }
}

// Where every path is allowed, none can be mistaken for a denied one.
TEST(HttpRules, ARuleForEveryPathTakesThemAll) {
  std::vector<HttpRule> rules = {{.host = "a.test", .methods = {"GET"}, .paths = {"/**"}}};
  EXPECT_TRUE(May(rules, "a.test", "GET", "/caf%c3%a9//x"));
  EXPECT_FALSE(May(rules, "a.test", "POST", "/caf%c3%a9//x"));
}

TEST(HttpRules, ARuleWithAPortIsForThatPort) {
  std::vector<HttpRule> rules = {{.host = "a.test:8443", .methods = {"GET"}, .paths = {}},
                                 {.host = "b.test", .methods = {"GET"}, .paths = {}}};
  EXPECT_TRUE(May(rules, "a.test:8443", "GET", "/"));
  EXPECT_FALSE(May(rules, "a.test:8443", "POST", "/"));
  EXPECT_FALSE(May(rules, "a.test:443", "GET", "/"));  // bound all the same, by no rule
  EXPECT_TRUE(HasHttpRules(rules, *guard::ParseHost("a.test")));
  EXPECT_TRUE(May(rules, "b.test:8443", "GET", "/"));
  EXPECT_FALSE(May(rules, "b.test:8443", "PUT", "/"));
}

TEST(HttpRules, NoFieldMakesItAnotherRequest) {
  for (const char* name :
       {"X-HTTP-Method-Override", "x-method-override", "X-Original-URL", "X_Rewrite_URL"}) {
    EXPECT_FALSE(May(kRules, "api.example.test", "GET", "/v1/a", {{name, "/v1/b"}})) << name;
    EXPECT_TRUE(May(kRules, "other.test", "GET", "/v1/a", {{name, "/v1/b"}})) << name;
  }
  EXPECT_TRUE(May(kRules, "api.example.test", "GET", "/v1/a", {{"X-Original", "/v1/b"}}));
}

TEST(HttpRules, AHostThatCannotBeReadDeniesAll) {
  std::vector<HttpRule> rules = {{.host = "*", .methods = {"GET"}, .paths = {}}};
  EXPECT_FALSE(May(rules, "a.test", "GET", "/"));
}

TEST(HttpRules, GlobsEndInTime) {
  std::string glob, path(4000, 'a');
  for (int i = 0; i < 100; ++i) glob += "*a";
  std::vector<HttpRule> rules = {{.host = "a.test", .methods = {}, .paths = {"/" + glob + "b"}}};
  EXPECT_FALSE(May(rules, "a.test", "GET", "/" + path));
}

}  // namespace
}  // namespace cordon::proxy
