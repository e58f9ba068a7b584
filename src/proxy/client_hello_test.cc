#include "proxy/client_hello.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// `body` with its length in front.
Bytes Vector(size_t width, const Bytes& body) {
  Bytes out;
  for (size_t i = width; i-- > 0;) out.push_back(static_cast<uint8_t>(body.size() >> (8 * i)));
  return out + body;
}

Bytes Extension(uint16_t type, const Bytes& body) {
  return Bytes{static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type)} + Vector(2, body);
}

Bytes HostName(std::string_view name) { return Bytes{0} + Vector(2, Text(name)); }

Bytes ServerName(std::string_view name) { return Extension(0, Vector(2, HostName(name))); }

const Bytes kFields =
    Bytes{3, 3} + Bytes(32, 7) + Vector(1, Bytes(32, 9)) + Vector(2, {0x13, 1}) + Vector(1, {0});

Bytes Message(const Bytes& body, uint8_t type = 1) { return Bytes{type} + Vector(3, body); }

Bytes Record(const Bytes& body, uint8_t type = 22) { return Bytes{type, 3, 1} + Vector(2, body); }

Bytes HelloMessage(const Bytes& extensions) { return Message(kFields + Vector(2, extensions)); }

Bytes Hello(const Bytes& extensions) { return Record(HelloMessage(extensions)); }

// One record for every `size` bytes of the message.
Bytes InRecordsOf(size_t size, const Bytes& message) {
  Bytes out;
  for (size_t at = 0; at < message.size(); at += size) {
    const size_t end = std::min(at + size, message.size());
    out = out + Record(Bytes(message.begin() + static_cast<ptrdiff_t>(at),
                             message.begin() + static_cast<ptrdiff_t>(end)));
  }
  return out;
}

HelloState StateOf(const Bytes& bytes) { return ReadClientHello(bytes).state; }

std::string_view ProblemOf(const Bytes& bytes) {
  HelloReading reading = ReadClientHello(bytes);
  EXPECT_EQ(reading.state, HelloState::kMalformed);
  return reading.problem;
}

TEST(ClientHello, ReadsNameAndProtocols) {
  const Bytes alpn = Extension(16, Vector(2, Vector(1, Text("h2")) + Vector(1, Text("http/1.1"))));
  HelloReading reading = ReadClientHello(Hello(ServerName("Allowed.Test") + alpn));
  ASSERT_EQ(reading.state, HelloState::kComplete);
  EXPECT_EQ(reading.hello, (ClientHello{"Allowed.Test", {"h2", "http/1.1"}, false}));
}

TEST(ClientHello, NoNameIsNoName) {
  EXPECT_EQ(ReadClientHello(Hello({})).hello, ClientHello{});
  HelloReading old = ReadClientHello(Record(Message(kFields)));
  ASSERT_EQ(old.state, HelloState::kComplete);
  EXPECT_EQ(old.hello, ClientHello{});
}

TEST(ClientHello, SeesEncryptedHello) {
  HelloReading reading = ReadClientHello(Hello(ServerName("a.test") + Extension(0xfe0d, {0})));
  ASSERT_EQ(reading.state, HelloState::kComplete);
  EXPECT_TRUE(reading.hello.has_ech);
  EXPECT_EQ(reading.hello.sni, "a.test");
}

TEST(ClientHello, KeepsBytesThatAreNoHost) {
  const std::string_view name("allowed.test\0.evil.test", 23);
  EXPECT_EQ(ReadClientHello(Hello(ServerName(name))).hello.sni, name);
}

TEST(ClientHello, EveryPrefixNeedsMore) {
  for (const Bytes& hello :
       {Hello(ServerName("a.test")), InRecordsOf(1, HelloMessage(ServerName("a.test")))}) {
    for (size_t size = 0; size < hello.size(); ++size) {
      EXPECT_EQ(StateOf(Bytes(hello.begin(), hello.begin() + static_cast<ptrdiff_t>(size))),
                HelloState::kNeedMore)
          << size;
    }
    EXPECT_EQ(StateOf(hello), HelloState::kComplete);
  }
}

TEST(ClientHello, JoinsRecords) {
  const Bytes message = HelloMessage(ServerName("a.test"));
  for (size_t size = 1; size <= message.size(); ++size) {
    HelloReading reading = ReadClientHello(InRecordsOf(size, message));
    ASSERT_EQ(reading.state, HelloState::kComplete) << size;
    EXPECT_EQ(reading.hello.sni, "a.test");
  }
}

TEST(ClientHello, LeavesAloneWhatFollows) {
  EXPECT_EQ(StateOf(Hello(ServerName("a.test")) + Record({1}, 20) + Bytes{99}),
            HelloState::kComplete);
}

TEST(ClientHello, OtherProtocolsAreNotTls) {
  EXPECT_EQ(StateOf(Text("GET / HTTP/1.1\r\n")), HelloState::kNotTls);
  EXPECT_EQ(StateOf(Text("SSH-2.0-x\r\n")), HelloState::kNotTls);
  EXPECT_EQ(StateOf({22, 2}), HelloState::kMalformed);
  EXPECT_EQ(StateOf({22, 3}), HelloState::kNeedMore);
}

// Servers that pass over a warning would read the hello behind it.
TEST(ClientHello, NothingComesBeforeIt) {
  for (uint8_t type : {0x14, 0x15, 0x17, 0x18}) {
    EXPECT_EQ(StateOf(Record({1, 0x5a}, type) + Hello(ServerName("a.test"))),
              HelloState::kMalformed);
  }
}

TEST(ClientHello, SecondNameIsMalformed) {
  EXPECT_EQ(ProblemOf(Hello(Extension(0, Vector(2, HostName("a.test") + HostName("b.test"))))),
            "two server names");
  EXPECT_EQ(ProblemOf(Hello(ServerName("a.test") + ServerName("b.test"))), "repeated extension");
  EXPECT_EQ(ProblemOf(Hello(Extension(0xfe0d, {}) + Extension(5, {}) + Extension(0xfe0d, {}))),
            "repeated extension");
}

TEST(ClientHello, WrongServerNameIsMalformed) {
  EXPECT_EQ(ProblemOf(Hello(Extension(0, {}))), "server name extension of a wrong length");
  EXPECT_EQ(ProblemOf(Hello(Extension(0, Vector(2, HostName("a.test")) + Bytes{0}))),
            "server name extension of a wrong length");
  EXPECT_EQ(ProblemOf(Hello(ServerName(""))), "empty server name");
  EXPECT_EQ(ProblemOf(Hello(Extension(0, Vector(2, Bytes{1} + Vector(2, Text("a.test")))))),
            "server name that is no host name");
}

TEST(ClientHello, WrongLengthsAreMalformed) {
  EXPECT_EQ(ProblemOf(Record(Message(kFields + Vector(2, {}) + Bytes{0}))),
            "extensions of a wrong length");
  EXPECT_EQ(ProblemOf(Record(Message(kFields + Bytes{0}))), "extensions of a wrong length");
  EXPECT_EQ(ProblemOf(Hello({0, 0, 0})), "extension of a wrong length");
  EXPECT_EQ(ProblemOf(Hello(Extension(16, Vector(2, {})))), "ALPN extension of a wrong length");
  EXPECT_EQ(ProblemOf(Hello(Extension(16, Vector(2, {0})))), "ALPN name of a wrong length");
  EXPECT_EQ(ProblemOf(Record(Message(Bytes(34, 3)))), "hello shorter than its fields");
  EXPECT_EQ(ProblemOf(Record(HelloMessage({}) + Bytes{0})), "more than the hello in its record");
}

TEST(ClientHello, OtherRecordsWithinAreMalformed) {
  const Bytes message = HelloMessage(ServerName("a.test"));
  const Bytes start = Record(Bytes(message.begin(), message.begin() + 10));
  EXPECT_EQ(ProblemOf(start + Record({1}, 20)), "another record within the hello");
  EXPECT_EQ(ProblemOf(start + Record({})), "record of a wrong length");
  EXPECT_EQ(ProblemOf(Record(Message(kFields, 2))), "not a client's hello");
}

TEST(ClientHello, IsBounded) {
  const Bytes padding = Extension(21, Bytes(kMaxHelloBytes - 200, 0));
  EXPECT_EQ(StateOf(Hello(ServerName("a.test") + padding)), HelloState::kComplete);

  const Bytes wide = HelloMessage(Extension(21, Bytes(kMaxHelloBytes, 0)));
  EXPECT_EQ(ProblemOf(InRecordsOf(8192, wide)), "hello too long");
  EXPECT_EQ(ProblemOf(Record({1, 1, 0, 0})), "hello too long");  // as soon as it says so
  const Bytes endless = InRecordsOf(1, HelloMessage(padding));
  EXPECT_EQ(ProblemOf(Bytes(endless.begin(), endless.begin() + kMaxHelloBytes)), "hello too long");
}

TEST(ClientHello, TheHelloOfSsl2NamesNobody) {
  std::vector<uint8_t> hello = {0x80, 0x2e, 0x01, 0x03, 0x03, 0x00, 0x15};
  EXPECT_EQ(ReadClientHello(hello).state, HelloState::kMalformed);
  EXPECT_EQ(ReadClientHello(std::span(hello).first(2)).state, HelloState::kNeedMore);
  hello[3] = 0x00;  // version 0.2
  EXPECT_EQ(ReadClientHello(hello).state, HelloState::kMalformed);
  // Any other binary protocol.
  hello[2] = 0x02;
  EXPECT_EQ(ReadClientHello(hello).state, HelloState::kNotTls);
  EXPECT_EQ(ReadClientHello(std::vector<uint8_t>{0x80, 0x2e, 0x01, 0x07}).state,
            HelloState::kNotTls);
}

}  // namespace
}  // namespace cordon::proxy
