#include "proxy/dns_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <thread>

namespace cordon::proxy {
namespace {

using Bytes = std::vector<uint8_t>;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address MakeAddress(const char* text, uint16_t port) {
  Address address;
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(port)};
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(port)};
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    address.size = sizeof v4;
    memcpy(&address.storage, &v4, sizeof v4);
  } else {
    inet_pton(AF_INET6, text, &v6.sin6_addr);
    address.size = sizeof v6;
    memcpy(&address.storage, &v6, sizeof v6);
  }
  return address;
}

sys::UniqueFd Bound(const char* text, int type) {
  Address address = MakeAddress(text, 0);
  sys::UniqueFd fd(socket(address.storage.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  EXPECT_EQ(bind(fd.get(), address.get(), address.size), 0);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(listen(fd.get(), 64), 0);
  }
  return fd;
}

uint16_t PortOf(const sys::UniqueFd& fd) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);  // at the same place for IPv4
}

// Connected, so that an answer from another address does not arrive.
sys::UniqueFd Connected(const char* text, uint16_t port, int type) {
  Address address = MakeAddress(text, port);
  sys::UniqueFd fd(socket(address.storage.ss_family, type | SOCK_CLOEXEC, 0));
  timeval patience{.tv_sec = 20};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(connect(fd.get(), address.get(), address.size), 0) << text;
  return fd;
}

Bytes Query(const std::string& label, uint8_t id = 7) {
  Bytes query = {0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, static_cast<uint8_t>(label.size())};
  query.insert(query.end(), label.begin(), label.end());
  const Bytes rest = {4, 't', 'e', 's', 't', 0, 0, 1, 0, 1};
  query.insert(query.end(), rest.begin(), rest.end());
  return query;
}

Bytes Receive(const sys::UniqueFd& fd, size_t most = 4096) {
  Bytes bytes(most);
  ssize_t size = recv(fd.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return bytes;
}

Bytes AskUdp(const sys::UniqueFd& fd, const Bytes& query) {
  EXPECT_EQ(send(fd.get(), query.data(), query.size(), 0), static_cast<ssize_t>(query.size()));
  return Receive(fd);
}

Bytes Framed(const Bytes& message) {
  Bytes framed = {static_cast<uint8_t>(message.size() >> 8), static_cast<uint8_t>(message.size())};
  framed.insert(framed.end(), message.begin(), message.end());
  return framed;
}

Bytes ReceiveFramed(const sys::UniqueFd& fd) {
  Bytes bytes(2);
  if (recv(fd.get(), bytes.data(), 2, MSG_WAITALL) != 2) return {};
  bytes.resize(size_t{bytes[0]} << 8 | bytes[1]);
  EXPECT_EQ(recv(fd.get(), bytes.data(), bytes.size(), MSG_WAITALL),
            static_cast<ssize_t>(bytes.size()));
  return bytes;
}

Bytes AskTcp(const sys::UniqueFd& fd, const Bytes& query) {
  const Bytes framed = Framed(query);
  EXPECT_EQ(send(fd.get(), framed.data(), framed.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(framed.size()));
  return ReceiveFramed(fd);
}

int CodeOf(const Bytes& answer) { return answer.size() < 12 ? -1 : answer[3] & 0xf; }
// The last of the answer, which has no OPT record.
Bytes AddressIn(const Bytes& answer) {
  return answer.size() < 16 || answer[7] != 1 ? Bytes{} : Bytes(answer.end() - 4, answer.end());
}

class DnsServerTest : public ::testing::Test {
 protected:
  void Start(const char* address, DnsLimits limits = {}) {
    rules_.mode = NetMode::kProxy;
    rules_.allow.push_back(guard::ParseHostPattern("allowed.test").value());
    responder_ = std::make_shared<DnsResponder>(
        DnsContext{.rules = [this]() -> const guard::NetRules& { return rules_; },
                   .names = names_,
                   .resolve = &DnsServerTest::Lookup,
                   .on_event = [](NetEvent) {}});
    DnsSockets sockets;
    sockets.udp.push_back(Bound(address, SOCK_DGRAM));
    sockets.tcp.push_back(Bound(address, SOCK_STREAM));
    udp_port_ = PortOf(sockets.udp[0]);
    tcp_port_ = PortOf(sockets.tcp[0]);
    ASSERT_TRUE(ServeDns(io_.get_executor(), responder_, std::move(sockets), limits));
    thread_ = std::jthread([this] { io_.run(); });
  }

  void TearDown() override { io_.stop(); }

  static Task<Result<std::vector<guard::IpAddress>>> Lookup(guard::Host) {
    co_await Yield();
    co_return std::vector<guard::IpAddress>{*guard::ParseIp("8.8.8.8")};
  }

  guard::NetRules rules_;
  NameTable names_;
  std::shared_ptr<DnsResponder> responder_;
  uint16_t udp_port_ = 0;
  uint16_t tcp_port_ = 0;
  asio::io_context io_;
  std::jthread thread_;
};

const Bytes kSynthetic = {198, 18, 1, 0};
constexpr int kNoSuchName = 3;
constexpr int kFormatError = 1;

TEST_F(DnsServerTest, AnswersOverUdpFromTheAddressAsked) {
  Start("0.0.0.0");
  for (const char* server : {"127.0.0.1", "127.8.8.8"}) {
    sys::UniqueFd fd = Connected(server, udp_port_, SOCK_DGRAM);
    EXPECT_EQ(AddressIn(AskUdp(fd, Query("AlloWed"))), kSynthetic);
    EXPECT_EQ(CodeOf(AskUdp(fd, Query("other"))), kNoSuchName);
  }
}

TEST_F(DnsServerTest, AnswersOverIpv6) {
  if (sys::UniqueFd fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)); true) {
    Address loopback = MakeAddress("::1", 0);
    bool has_ipv6 = access("/proc/net/if_inet6", F_OK) == 0;
    if (!has_ipv6) GTEST_SKIP() << "a kernel without IPv6";
    ASSERT_EQ(bind(fd.get(), loopback.get(), loopback.size), 0) << strerror(errno);
  }
  Start("::");
  sys::UniqueFd fd = Connected("::1", udp_port_, SOCK_DGRAM);
  EXPECT_EQ(AddressIn(AskUdp(fd, Query("allowed"))), kSynthetic);
  EXPECT_EQ(CodeOf(AskUdp(fd, Query("other"))), kNoSuchName);
}

TEST_F(DnsServerTest, AnswersSeveralQueriesOfOneConnection) {
  Start("127.0.0.1");
  sys::UniqueFd fd = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
  EXPECT_EQ(AddressIn(AskTcp(fd, Query("allowed"))), kSynthetic);
  EXPECT_EQ(CodeOf(AskTcp(fd, Query("other"))), kNoSuchName);
  EXPECT_EQ(AddressIn(AskTcp(fd, Query("allowed"))), kSynthetic);
}

TEST_F(DnsServerTest, AnswersQueriesSentTogether) {
  Start("127.0.0.1");
  sys::UniqueFd fd = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
  Bytes both = Framed(Query("allowed", 1));
  const Bytes second = Framed(Query("other", 2));
  both.insert(both.end(), second.begin(), second.end());
  for (uint8_t byte : both) ASSERT_EQ(send(fd.get(), &byte, 1, MSG_NOSIGNAL), 1);
  const Bytes first_answer = ReceiveFramed(fd);
  EXPECT_EQ(AddressIn(first_answer), kSynthetic);
  const Bytes second_answer = ReceiveFramed(fd);
  EXPECT_EQ(CodeOf(second_answer), kNoSuchName);
  EXPECT_EQ(second_answer[1], 2);
}

TEST_F(DnsServerTest, ScrapsDoNotStopIt) {
  Start("127.0.0.1");
  sys::UniqueFd fd = Connected("127.0.0.1", udp_port_, SOCK_DGRAM);
  const Bytes huge(8000, 0);
  send(fd.get(), huge.data(), huge.size(), 0);
  send(fd.get(), huge.data(), 0, 0);
  EXPECT_EQ(CodeOf(AskUdp(fd, Bytes(12, 0))), kFormatError);
  EXPECT_EQ(AddressIn(AskUdp(fd, Query("allowed"))), kSynthetic);

  sys::UniqueFd stream = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
  EXPECT_THAT(AskTcp(stream, huge), ::testing::IsEmpty());
  sys::UniqueFd another = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
  EXPECT_EQ(AddressIn(AskTcp(another, Query("allowed"))), kSynthetic);
}

TEST_F(DnsServerTest, EndsConnectionsThatSayNothing) {
  Start("127.0.0.1", {.query_ms = 50});
  sys::UniqueFd silent = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
  sys::UniqueFd slow = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
  send(slow.get(), "\0", 1, MSG_NOSIGNAL);
  for (const sys::UniqueFd* fd : {&silent, &slow}) {
    pollfd ended{.fd = fd->get(), .events = POLLIN};
    EXPECT_EQ(poll(&ended, 1, 20'000), 1);
    EXPECT_THAT(Receive(*fd), ::testing::IsEmpty());
  }
}

TEST_F(DnsServerTest, BoundsItsConnections) {
  Start("127.0.0.1", {.connections = 1});
  {
    sys::UniqueFd first = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
    EXPECT_EQ(AddressIn(AskTcp(first, Query("allowed"))), kSynthetic);
    sys::UniqueFd second = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
    EXPECT_THAT(Receive(second), ::testing::IsEmpty());
    EXPECT_EQ(AddressIn(AskTcp(first, Query("allowed"))), kSynthetic);
  }
  // Its end is seen some time after.
  for (Bytes answer; answer.empty();) {
    sys::UniqueFd next = Connected("127.0.0.1", tcp_port_, SOCK_STREAM);
    const Bytes framed = Framed(Query("allowed"));
    send(next.get(), framed.data(), framed.size(), MSG_NOSIGNAL);
    answer = ReceiveFramed(next);
  }
}

}  // namespace
}  // namespace cordon::proxy
