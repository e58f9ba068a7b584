#include "proxy/credential.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace cordon::proxy {
namespace {

class CredentialTest : public testing::Test {
 protected:
  // The value of the field as it is sent to `target`; "-" if there is none.
  std::string Sent(std::vector<HeaderField> fields, std::string_view target,
                   std::string method = "GET") {
    RequestHead head{.method = std::move(method), .fields = std::move(fields)};
    auto to = guard::ParseHostPort(target);
    EXPECT_TRUE(to) << target;
    for (const HeaderField& field : WithSecrets(head, secrets_, *to).fields) {
      if (SameFieldName(field.name, "authorization")) return field.value;
    }
    return "-";
  }

  std::vector<Secret> secrets_ = {{.host = *guard::ParseHostPattern("api.test"),
                                   .header = "Authorization",
                                   .format = "Bearer {}",
                                   .value = "real-value",
                                   .placeholder = "cord-onpla"}};
};

TEST_F(CredentialTest, IsAddedWhereTheHeaderIsMissing) {
  EXPECT_EQ(Sent({}, "api.test:443"), "Bearer real-value");
}

TEST_F(CredentialTest, TakesThePlaceOfThePlaceholder) {
  EXPECT_EQ(Sent({{"authorization", "token cord-onpla"}}, "api.test:443"), "token real-value");
  EXPECT_EQ(Sent({{"Authorization", "basic " + base::ToBase64("me:cord-onpla")}}, "api.test:443"),
            "Basic " + base::ToBase64("me:real-value"));
}

TEST_F(CredentialTest, LeavesOtherValuesAlone) {
  for (const char* value : {"Bearer mine", "Basic bWU6bWluZQ==", "Basic !", ""}) {
    EXPECT_EQ(Sent({{"Authorization", value}}, "api.test:443"), value);
  }
}

TEST_F(CredentialTest, GoesToItsHostOnly) {
  for (const char* target : {"other.test:443", "x.api.test:443", "api.test:8443"}) {
    EXPECT_EQ(Sent({{"Authorization", "token cord-onpla"}}, target), "token cord-onpla");
    EXPECT_EQ(Sent({}, target), "-");
  }
}

TEST_F(CredentialTest, IsNotSentToBeSentBack) {
  for (const char* method : {"TRACE", "trace", "Track", "DEBUG"}) {
    EXPECT_EQ(Sent({}, "api.test:443", method), "-") << method;
  }
  EXPECT_EQ(Sent({}, "api.test:443", "TRACER"), "Bearer real-value");
}

}  // namespace
}  // namespace cordon::proxy
