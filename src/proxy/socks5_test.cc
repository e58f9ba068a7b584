#include "proxy/socks5.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

std::string Domain(std::string_view name, std::string_view head = {"\x05\x01\x00\x03", 4}) {
  std::string bytes(head);
  bytes += static_cast<char>(name.size());
  return bytes.append(name).append("\x01\xbb");
}

SocksReply ProblemOf(std::string_view bytes) {
  SocksRequest request = ParseSocksRequest(bytes);
  return request.state == SocksState::kMalformed ? request.problem : SocksReply::kOk;
}

TEST(SocksGreeting, ReadsMethodsPieceByPiece) {
  EXPECT_EQ(ParseSocksGreeting("\x05").state, SocksState::kNeedMore);
  EXPECT_EQ(ParseSocksGreeting({"\x05\x02\x02", 3}).state, SocksState::kNeedMore);
  SocksGreeting greeting = ParseSocksGreeting({"\x05\x02\x02\x00rest", 8});
  EXPECT_EQ(greeting, (SocksGreeting{SocksState::kComplete, 4, true}));
  EXPECT_FALSE(ParseSocksGreeting({"\x05\x01\x02", 3}).no_auth);
  EXPECT_EQ(ParseSocksGreeting({"\x05\x00", 2}).state, SocksState::kMalformed);
  EXPECT_EQ(ParseSocksGreeting("\x04").state, SocksState::kMalformed);
}

TEST(SocksRequest, ReadsEachKindOfAddress) {
  SocksRequest request = ParseSocksRequest(Domain("a.test") + "rest");
  EXPECT_EQ(request.state, SocksState::kComplete);
  EXPECT_EQ(request.host, "a.test");
  EXPECT_EQ(request.port, 443);
  EXPECT_EQ(request.size, Domain("a.test").size());
  EXPECT_EQ(ParseSocksRequest({"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 10}).host, "127.0.0.1");
  std::string v6("\x05\x01\x00\x04", 4);
  v6 += std::string(15, '\0') + std::string("\x01\x00\x50", 3);
  EXPECT_EQ(ParseSocksRequest(v6).host, "::1");
}

TEST(SocksRequest, KeepsTheBytesOfADomain) {
  std::string_view tricky("evil.test\0.a.test", 17);
  EXPECT_EQ(ParseSocksRequest(Domain(tricky)).host, tricky);
}

TEST(SocksRequest, NeedsAllOfIt) {
  std::string whole = Domain("a.test");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ParseSocksRequest(whole.substr(0, size)).state, SocksState::kNeedMore) << size;
  }
}

TEST(SocksRequest, RefusesWhatIsNotSpoken) {
  EXPECT_EQ(ProblemOf(Domain("a.test", {"\x05\x02\x00\x03", 4})), SocksReply::kBadCommand);
  EXPECT_EQ(ProblemOf(Domain("a.test", {"\x05\x03\x00\x03", 4})), SocksReply::kBadCommand);
  EXPECT_EQ(ProblemOf(Domain("a.test", {"\x05\x01\x01\x03", 4})), SocksReply::kFailure);
  EXPECT_EQ(ProblemOf(Domain("a.test", {"\x04\x01\x00\x03", 4})), SocksReply::kFailure);
  EXPECT_EQ(ProblemOf(Domain("a.test", {"\x05\x01\x00\x02", 4})), SocksReply::kBadAddressType);
  EXPECT_EQ(ProblemOf(Domain("")), SocksReply::kDenied);
}

}  // namespace
}  // namespace cordon::proxy
