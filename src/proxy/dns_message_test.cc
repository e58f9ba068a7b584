#include "proxy/dns_message.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

using guard::Family;
using guard::IpAddress;
using Bytes = std::vector<uint8_t>;
using State = DnsReading::State;

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes Labels(const std::vector<std::string>& labels) {
  Bytes out;
  for (const std::string& label : labels) {
    out.push_back(static_cast<uint8_t>(label.size()));
    out.insert(out.end(), label.begin(), label.end());
  }
  out.push_back(0);
  return out;
}

Bytes Header(uint8_t questions, uint8_t additional, uint8_t flags = 1) {
  return {0x12, 0x34, flags, 0, 0, questions, 0, 0, 0, 0, 0, additional};
}

const Bytes kName = Labels({"AlLowed", "tEst"});
const Bytes kQuestionA = kName + Bytes{0, 1, 0, 1};
const Bytes kOpt4096 = {0, 0, 41, 0x10, 0, 0, 0, 0x80, 0, 0, 0};

Bytes Ask(uint8_t type) { return Header(1, 0) + kName + Bytes{0, type, 0, 1}; }

DnsCode FaultOf(const Bytes& message) {
  DnsReading reading = ReadDnsQuery(message);
  EXPECT_EQ(reading.state, State::kFault);
  EXPECT_EQ(reading.query.id, 0x1234);
  return reading.fault;
}

State StateOf(const Bytes& message) { return ReadDnsQuery(message).state; }

DnsQuery Query(const Bytes& message) {
  DnsReading reading = ReadDnsQuery(message);
  EXPECT_EQ(reading.state, State::kQuery);
  return reading.query;
}

const IpAddress kV4 = {.family = Family::kV4, .bytes = {198, 18, 1, 0}};
const IpAddress kV6 = {.family = Family::kV6, .bytes = {0xfd, 0x63, 1, 2, 3}};
// The parent "test", SOA, IN, 5 s, 22 bytes: roots, serial 1, four times 5 s.
const Bytes kSoaOfTest = {0xc0, 20, 0, 6, 0, 1, 0, 0, 0, 5, 0, 22, 0, 0, 0, 0, 0,
                          1,    0,  0, 0, 5, 0, 0, 0, 5, 0, 0, 0,  5, 0, 0, 0, 5};

Bytes AnswerHeader(uint8_t code, uint8_t answers, uint8_t authority, uint8_t additional) {
  return {0x12,      0x34, 0x81,      static_cast<uint8_t>(0x80 | code), 0, 1, 0, answers, 0,
          authority, 0,    additional};
}

TEST(DnsQuery, ReadsTheQuestionInItsCase) {
  DnsQuery query = Query(Header(1, 0) + kQuestionA);
  EXPECT_EQ(query, (DnsQuery{.id = 0x1234,
                             .recursion_desired = true,
                             .question = kQuestionA,
                             .name = "AlLowed.tEst",
                             .type = DnsType::kA}));
}

TEST(DnsQuery, ReadsEdns) {
  DnsQuery query = Query(Header(1, 1) + kQuestionA + kOpt4096);
  EXPECT_TRUE(query.edns);
  EXPECT_TRUE(query.dnssec_ok);
  EXPECT_EQ(query.udp_size, 4096);

  const Bytes small = {0, 0, 41, 0, 100, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Query(Header(1, 1) + kQuestionA + small).udp_size, 512);
  const Bytes cookie = {0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 6, 0, 10, 0, 2, 1, 2};
  EXPECT_EQ(Query(Header(1, 1) + kQuestionA + cookie).udp_size, 1232);
}

TEST(DnsQuery, EscapesBytesThatAreNotOfHostNames) {
  EXPECT_EQ(Query(Header(1, 0) + Labels({"a.b", "test"}) + Bytes{0, 1, 0, 1}).name, "a\\046b.test");
  EXPECT_EQ(Query(Header(1, 0) + Labels({std::string("a\0", 2), "_x-1"}) + Bytes{0, 1, 0, 1}).name,
            "a\\000._x-1");
  EXPECT_EQ(Query(Header(1, 0) + Labels({}) + Bytes{0, 2, 0, 1}).name, "");
}

TEST(DnsQuery, AnswersAndScrapsAreIgnored) {
  EXPECT_EQ(StateOf(Header(1, 0, 0x81) + kQuestionA), State::kIgnore);
  EXPECT_EQ(StateOf(Bytes(11, 0)), State::kIgnore);
  EXPECT_EQ(StateOf({}), State::kIgnore);
}

TEST(DnsQuery, OtherOpcodesAndClassesAreRefused) {
  EXPECT_EQ(FaultOf(Header(1, 0, 0x29) + kQuestionA), DnsCode::kNotImplemented);  // UPDATE
  EXPECT_EQ(FaultOf(Header(1, 0) + kName + Bytes{0, 1, 0, 3}), DnsCode::kRefused);
  EXPECT_EQ(FaultOf(Header(1, 0) + kName + Bytes{0, 1, 0, 255}), DnsCode::kRefused);
}

TEST(DnsQuery, CountsMustFit) {
  EXPECT_EQ(FaultOf(Header(0, 0)), DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(Header(2, 0) + kQuestionA + kQuestionA), DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(Header(1, 0) + kQuestionA + Bytes{0}), DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(Header(1, 0) + kQuestionA + kOpt4096), DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(Header(1, 2) + kQuestionA + kOpt4096 + kOpt4096), DnsCode::kFormatError);
  for (size_t count : {7, 9}) {
    Bytes message = Header(1, 0) + kQuestionA;
    message[count] = 1;
    EXPECT_EQ(FaultOf(message), DnsCode::kFormatError);
  }
}

TEST(DnsQuery, EveryCutIsAFault) {
  const Bytes whole = Header(1, 1) + kQuestionA + kOpt4096;
  for (size_t size = 12; size < whole.size(); ++size) {
    EXPECT_EQ(FaultOf(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))),
              DnsCode::kFormatError)
        << size;
  }
  EXPECT_EQ(StateOf(whole), State::kQuery);
}

TEST(DnsQuery, NamesAreBoundedAndNotCompressed) {
  const Bytes end = {0, 1, 0, 1};
  EXPECT_EQ(FaultOf(Header(1, 0) + Bytes{0xc0, 12} + end), DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(Header(1, 0) + Bytes{1, 'a', 0xc0, 12} + end), DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(Header(1, 0) + Bytes{0x41, 1, 0} + end), DnsCode::kFormatError);
  const std::string wide(63, 'a');
  const Bytes longest = Labels({wide, wide, wide, std::string(61, 'b')});
  ASSERT_EQ(longest.size(), 255U);
  EXPECT_EQ(StateOf(Header(1, 0) + longest + end), State::kQuery);
  EXPECT_EQ(FaultOf(Header(1, 0) + Labels({wide, wide, wide, std::string(62, 'b')}) + end),
            DnsCode::kFormatError);
}

TEST(DnsQuery, WrongOptIsAFault) {
  const Bytes start = Header(1, 1) + kQuestionA;
  EXPECT_EQ(FaultOf(start + Bytes{0, 0, 16, 4, 208, 0, 0, 0, 0, 0, 0}), DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(start + Bytes{0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 3, 0, 10, 0}),
            DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(start + Bytes{0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 4, 0, 10, 0, 1}),
            DnsCode::kFormatError);
  EXPECT_EQ(FaultOf(start + Bytes{0, 0, 41, 4, 208, 0, 1, 0, 0, 0, 0}), DnsCode::kBadVersion);
}

TEST(DnsAnswer, GivesTheAddressOfTheFamily) {
  const DnsAnswer answer = {.code = DnsCode::kNoError, .addresses = {kV4, kV6}, .ttl = 30};
  EXPECT_EQ(BuildDnsAnswer(Query(Ask(1)), answer, 512),
            (AnswerHeader(0, 1, 0, 0) + kQuestionA +
             Bytes{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, 198, 18, 1, 0}));
  EXPECT_EQ(BuildDnsAnswer(Query(Ask(28)), answer, 512),
            (AnswerHeader(0, 1, 0, 0) + kName + Bytes{0, 28, 0, 1} +
             Bytes{0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 30, 0, 16} +
             Bytes(kV6.bytes.begin(), kV6.bytes.end())));
}

TEST(DnsAnswer, OtherTypesHaveNoData) {
  const DnsAnswer answer = {.code = DnsCode::kNoError, .addresses = {kV4, kV6}, .ttl = 30};
  for (uint8_t type : {15, 16, 33, 64, 65, 255}) {
    EXPECT_EQ(BuildDnsAnswer(Query(Ask(type)), answer, 512),
              (AnswerHeader(0, 0, 1, 0) + kName + Bytes{0, type, 0, 1} + kSoaOfTest));
  }
}

TEST(DnsAnswer, NoSuchNameCanBeCached) {
  EXPECT_EQ(BuildDnsAnswer(Query(Ask(1)), {.code = DnsCode::kNoSuchName}, 512),
            (AnswerHeader(3, 0, 1, 0) + kQuestionA + kSoaOfTest));
  Bytes root = BuildDnsAnswer(Query(Header(1, 0) + Bytes{0, 0, 1, 0, 1}),
                              {.code = DnsCode::kNoSuchName}, 512);
  EXPECT_EQ(Bytes(root.begin() + 17, root.begin() + 19), (Bytes{0xc0, 12}));
}

TEST(DnsAnswer, FailuresCarryNothing) {
  for (DnsCode code : {DnsCode::kServerFailure, DnsCode::kRefused}) {
    EXPECT_EQ(BuildDnsAnswer(Query(Ask(1)), {.code = code, .addresses = {kV4}}, 512),
              (AnswerHeader(static_cast<uint8_t>(code), 0, 0, 0) + kQuestionA));
  }
}

TEST(DnsAnswer, FaultWithoutQuestionIsAHeader) {
  DnsReading reading = ReadDnsQuery(Header(0, 0));
  EXPECT_EQ(BuildDnsAnswer(reading.query, {.code = reading.fault}, 512),
            (Bytes{0x12, 0x34, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(DnsAnswer, EchoesEdns) {
  DnsQuery query = Query(Header(1, 1) + kQuestionA + kOpt4096);
  EXPECT_EQ(BuildDnsAnswer(query, {.code = DnsCode::kRefused}, 512),
            (AnswerHeader(5, 0, 0, 1) + kQuestionA + Bytes{0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0}));
  // The code 16 is split between the header and the record.
  EXPECT_EQ(BuildDnsAnswer(query, {.code = DnsCode::kBadVersion}, 512),
            (AnswerHeader(0, 0, 0, 1) + kQuestionA + Bytes{0, 0, 41, 4, 208, 1, 0, 0x80, 0, 0, 0}));
}

TEST(DnsAnswer, TooLongIsTruncated) {
  const DnsAnswer many = {
      .code = DnsCode::kNoError, .addresses = std::vector<IpAddress>(40, kV4), .ttl = 1};
  Bytes cut = AnswerHeader(0, 0, 0, 0) + kQuestionA;
  cut[2] |= 2;
  EXPECT_EQ(BuildDnsAnswer(Query(Ask(1)), many, 512), cut);
  EXPECT_EQ(BuildDnsAnswer(Query(Ask(1)), many, 65535).size(), 12 + kQuestionA.size() + 40 * 16);
}

}  // namespace
}  // namespace cordon::proxy
