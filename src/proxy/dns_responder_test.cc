#include "proxy/dns_responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <map>

namespace cordon::proxy {
namespace {

using guard::Host;
using guard::IpAddress;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kA = DnsType::kA;
constexpr auto kAaaa = DnsType::kAaaa;

class DnsResponderTest : public ::testing::Test {
 protected:
  DnsResponderTest() {
    rules_.mode = NetMode::kProxy;
    Allow("allowed.test");
    Allow("*.wild.test");
    real_["allowed.test"] = {*guard::ParseIp("8.8.8.8")};
  }

  void Allow(std::string_view pattern) {
    rules_.allow.push_back(guard::ParseHostPattern(pattern).value());
  }

  DnsContext Context() {
    return {.rules = [this]() -> const guard::NetRules& { return rules_; },
            .names = names_,
            .resolve = [this](Host host) { return Lookup(std::move(host)); },
            .on_event = [this](NetEvent event) { events_.push_back(std::move(event)); }};
  }

  Task<Result<std::vector<IpAddress>>> Lookup(Host host) {
    asked_.push_back(host.name);
    if (broken_) co_return Error{.code = Code::kSystem, .message = "no server answers"};
    auto found = real_.find(host.name);
    if (found == real_.end()) co_return Error{.code = Code::kNotFound, .message = "no such name"};
    co_return found->second;
  }

  DnsAnswer Ask(DnsResponder& responder, std::string name, DnsType type) {
    const DnsQuery query{.name = std::move(name), .type = type};
    if (std::optional<DnsAnswer> now = responder.AnswerNow(query)) return *now;
    asio::io_context io;
    DnsAnswer answer;
    asio::co_spawn(io, responder.Resolve(query),
                   [&](const std::exception_ptr&, DnsAnswer given) { answer = std::move(given); });
    io.run();
    return answer;
  }

  DnsAnswer Ask(std::string name, DnsType type) {
    DnsResponder responder(Context());
    return Ask(responder, std::move(name), type);
  }

  Reason LastReason() const { return events_.empty() ? Reason::kUsage : events_.back().reason; }

  guard::NetRules rules_;
  NameTable names_;
  std::map<std::string, std::vector<IpAddress>> real_;
  bool broken_ = false;
  std::vector<std::string> asked_;
  std::vector<NetEvent> events_;
};

TEST_F(DnsResponderTest, AllowedNameGetsAnAddressOfEachFamily) {
  DnsAnswer v4 = Ask("AlloWed.test", kA);
  EXPECT_EQ(v4.code, DnsCode::kNoError);
  EXPECT_THAT(v4.addresses, ElementsAre(*guard::ParseIp("198.18.1.0")));
  EXPECT_GT(v4.ttl, 0U);
  EXPECT_LE(v4.ttl, 60U);
  DnsAnswer v6 = Ask("allowed.test", kAaaa);
  EXPECT_THAT(v6.addresses, ElementsAre(*guard::ParseIp("fd63:6f72:646f:6e::100")));
  EXPECT_EQ(names_.NameOf(v4.addresses[0]), Host{.name = "allowed.test"});
  EXPECT_THAT(asked_, ElementsAre("allowed.test", "allowed.test"));
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_TRUE(events_[0].allowed);
  EXPECT_EQ(events_[0].via, Via::kDns);
  EXPECT_EQ(events_[0].host, "allowed.test");
  EXPECT_EQ(events_[0].address, "198.18.1.0");
  EXPECT_FALSE(events_[0].rule.empty());
}

TEST_F(DnsResponderTest, DeniedNameIsNeverAskedFor) {
  for (const char* name : {"secret.evil.test", "wild.test", "allowed.test.evil.test"}) {
    for (uint16_t type : {1, 28, 16, 65, 255}) {
      EXPECT_EQ(Ask(name, DnsType{type}).code, DnsCode::kNoSuchName) << name;
      ASSERT_FALSE(events_.empty());
      EXPECT_EQ(events_.back().operation, NetOperation::kLookup);
      EXPECT_FALSE(events_.back().allowed);
      EXPECT_EQ(events_.back().host, name);
      EXPECT_EQ(LastReason(), Reason::kHostDenied);
    }
  }
  EXPECT_EQ(events_.size(), 15U);
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DnsResponderTest, NamesThatAreNoHostsDoNotExist) {
  for (const char* name : {"allowed\\046test", "allowed\\000.test", "1.2.3.4", "-", "0x7f.1"}) {
    EXPECT_EQ(Ask(name, kA).code, DnsCode::kNoSuchName) << name;
    EXPECT_EQ(LastReason(), Reason::kHostInvalid) << name;
    events_.clear();
  }
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DnsResponderTest, OtherTypesHaveNoDataAndAreNotAskedFor) {
  for (uint16_t type : {12, 15, 16, 33, 64, 65, 255}) {
    DnsAnswer answer = Ask("allowed.test", DnsType{type});
    EXPECT_EQ(answer.code, DnsCode::kNoError);
    EXPECT_THAT(answer.addresses, IsEmpty());
  }
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(DnsResponderTest, AllowedNameThatDoesNotExist) {
  EXPECT_EQ(Ask("no.wild.test", kA).code, DnsCode::kNoSuchName);
  EXPECT_THAT(events_, IsEmpty());
  real_["bare.wild.test"] = {};
  DnsAnswer none = Ask("bare.wild.test", kA);
  EXPECT_EQ(none.code, DnsCode::kNoError);
  EXPECT_THAT(none.addresses, IsEmpty());
}

TEST_F(DnsResponderTest, DeniedAddressesAreToldAsNoName) {
  real_["inside.wild.test"] = {*guard::ParseIp("10.0.0.1"), *guard::ParseIp("169.254.169.254")};
  EXPECT_EQ(Ask("inside.wild.test", kA).code, DnsCode::kNoSuchName);
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].reason, Reason::kAddressDenied);
  EXPECT_EQ(events_[0].address, "169.254.169.254");

  real_["inside.wild.test"].push_back(*guard::ParseIp("8.8.8.8"));
  EXPECT_EQ(Ask("inside.wild.test", kA).addresses.size(), 1U);
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_TRUE(events_[1].allowed);
}

TEST_F(DnsResponderTest, FailureOfTheResolverIsAFailure) {
  broken_ = true;
  EXPECT_EQ(Ask("allowed.test", kA).code, DnsCode::kServerFailure);
  EXPECT_EQ(LastReason(), Reason::kUpstreamFailed);
  EXPECT_EQ(events_[0].detail, "no server answers");
}

TEST_F(DnsResponderTest, LocalhostIsLoopback) {
  for (const char* name : {"localhost", "LocalHost", "x.localhost"}) {
    EXPECT_THAT(Ask(name, kA).addresses,
                ElementsAre(*guard::ParseIp("127.0.0.1"), *guard::ParseIp("::1")));
  }
  EXPECT_EQ(Ask("notlocalhost", kA).code, DnsCode::kNoSuchName);
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DnsResponderTest, RootHasNoDataButExists) {
  EXPECT_EQ(Ask("", DnsType{2}).code, DnsCode::kNoError);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(DnsResponderTest, WithAnUpstreamNothingIsResolvedHere) {
  DnsContext context = Context();
  context.resolve = nullptr;
  DnsResponder responder(std::move(context));
  EXPECT_EQ(Ask(responder, "any.wild.test", kA).addresses.size(), 1U);
  EXPECT_EQ(Ask(responder, "evil.test", kA).code, DnsCode::kNoSuchName);
}

TEST_F(DnsResponderTest, RulesAreThoseOfNow) {
  DnsResponder responder(Context());
  EXPECT_EQ(Ask(responder, "allowed.test", kA).code, DnsCode::kNoError);
  rules_.allow.clear();
  EXPECT_EQ(Ask(responder, "allowed.test", kA).code, DnsCode::kNoSuchName);
}

TEST_F(DnsResponderTest, FullTableRefusesWithAReason) {
  NameTable none(0);
  DnsContext context = Context();
  DnsResponder responder({.rules = context.rules,
                          .names = none,
                          .resolve = context.resolve,
                          .on_event = context.on_event});
  EXPECT_EQ(Ask(responder, "allowed.test", kA).code, DnsCode::kRefused);
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].rule, "too many names were looked up");
}

TEST_F(DnsResponderTest, TooManyAtOnceFail) {
  asio::io_context io;
  Signal release(io.get_executor());
  DnsContext context = Context();
  context.max_pending = 1;
  context.resolve = [&](Host) -> Task<Result<std::vector<IpAddress>>> {
    co_await release.Wait();
    co_return std::vector<IpAddress>{*guard::ParseIp("8.8.8.8")};
  };
  DnsResponder responder(std::move(context));
  const DnsQuery query{.name = "allowed.test", .type = kA};
  EXPECT_EQ(responder.AnswerNow(query), std::nullopt);
  bool answered = false;
  asio::co_spawn(io, responder.Resolve(query), [&](const std::exception_ptr&, DnsAnswer given) {
    answered = given.code == DnsCode::kNoError;
  });
  io.poll();
  ASSERT_TRUE(responder.AnswerNow(query));
  EXPECT_EQ(responder.AnswerNow(query)->code, DnsCode::kServerFailure);
  release.Notify();
  io.restart();
  io.run();
  EXPECT_TRUE(answered);
  EXPECT_EQ(responder.AnswerNow(query), std::nullopt);
}

}  // namespace
}  // namespace cordon::proxy
