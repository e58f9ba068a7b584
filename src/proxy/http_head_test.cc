#include "proxy/http_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

using State = HeadScanner::State;

State ScanAll(std::string_view bytes) { return HeadScanner().Scan(bytes); }

std::string Get(std::string_view fields) {
  return "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" + std::string(fields) + "\r\n";
}

bool Accepts(std::string_view head) {
  return ScanAll(head) == State::kComplete && ParseRequestHead(head).has_value();
}

TEST(HeadScanner, FindsTheBlankLineWhateverThePieces) {
  std::string head = Get("A: b\r\n");
  std::string bytes;
  HeadScanner scanner;
  for (char c : head + "rest") {
    bytes += c;
    State state = scanner.Scan(bytes);
    ASSERT_EQ(state, bytes.size() < head.size() ? State::kNeedMore : State::kComplete);
    if (state == State::kComplete) break;
  }
  EXPECT_EQ(scanner.size(), head.size());
}

TEST(HeadScanner, RefusesLineEndsThatTwoReadersSeeDifferently) {
  EXPECT_EQ(ScanAll("GET / HTTP/1.1\n"), State::kMalformed);
  EXPECT_EQ(ScanAll("GET / HTTP/1.1\r\nA: b\n\r\n"), State::kMalformed);
  EXPECT_EQ(ScanAll("GET /\rX HTTP/1.1\r\n"), State::kMalformed);
  EXPECT_EQ(ScanAll(std::string_view("GET /\0 HTTP/1.1\r\n", 18)), State::kMalformed);
  EXPECT_EQ(ScanAll("\r\nGET / HTTP/1.1\r\n"), State::kMalformed);
}

TEST(ParseRequestHead, ReadsARequest) {
  auto head = ParseRequestHead(
      "POST http://a.test/x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nX: a\tb \r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->target, "http://a.test/x");
  EXPECT_EQ(head->host, "a.test");
  EXPECT_EQ(head->body, (BodyFraming{BodyKind::kLength, 5}));
  EXPECT_EQ(head->keep_alive, KeepAlive::kYes);
  EXPECT_EQ(head->fields[2], (HeaderField{"X", "a\tb"}));
}

TEST(ParseRequestHead, RefusesAFragment) {
  for (std::string_view target : {"/a#b", "#", "/#", "/a?b#c", "http://a.test/#", "a.test:443#"}) {
    EXPECT_FALSE(Accepts("GET " + std::string(target) + " HTTP/1.1\r\nHost: a.test\r\n\r\n"))
        << target;
  }
  EXPECT_TRUE(Accepts("GET /a%23b?c HTTP/1.1\r\nHost: a.test\r\n\r\n"));
}

TEST(ParseRequestHead, RefusesWhatCouldBeReadInTwoWays) {
  EXPECT_TRUE(Accepts(Get("")));
  for (std::string_view fields : {
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nContent-Length: 6\r\n",
           "Content-Length: 5, 5\r\n",
           "Content-Length: +5\r\n",
           "Content-Length: -5\r\n",
           "Content-Length: 0x5\r\n",
           "Content-Length: 5 \t6\r\n",
           "Content-Length:\r\n",
           "Content-Length: 99999999999999999999\r\n",
           "Transfer-Encoding: xchunked\r\n",
           "Transfer-Encoding: chunked, chunked\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Transfer-Encoding: identity\r\n",
           "Transfer-Encoding: \"chunked\"\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding:\r\n",
           "Transfer-Encoding : chunked\r\n",
           "Transfer-Encoding\t: chunked\r\n",
           "Host: b.test\r\n",
           "host: a.test\r\n",
           " folded: x\r\n",
           "\tfolded: x\r\n",
           "NoColon\r\n",
           ": empty\r\n",
           "A B: x\r\n",
           "A(b): x\r\n",
           "A: x\x01y\r\n",
           "A: x\x7fy\r\n",
       }) {
    EXPECT_FALSE(Accepts(Get(fields))) << fields;
  }
  EXPECT_TRUE(Accepts(Get("Content-Length: 5\r\n")));
  EXPECT_TRUE(Accepts(Get("transfer-encoding:   CHUNKED\t\r\n")));
}

TEST(ParseRequestHead, RefusesBadRequestLines) {
  for (std::string_view line : {
           "GET http://a.test/",
           "GET  http://a.test/ HTTP/1.1",
           "GET http://a.test/ HTTP/1.1 ",
           " GET http://a.test/ HTTP/1.1",
           "GET http://a.test/ HTTP/2.0",
           "GET http://a.test/ HTTP/1.2",
           "GET http://a.test/ http/1.1",
           "GET http://a.test/ HTTP/1.10",
           "GET http://a.test/ b HTTP/1.1",
           "G(T http://a.test/ HTTP/1.1",
           "GET\thttp://a.test/ HTTP/1.1",
           "GET http://a.test/\t HTTP/1.1",
           "GET http://a.test/\x7f HTTP/1.1",
           "PRI * HTTP/2.0",
           "",
       }) {
    EXPECT_FALSE(Accepts(std::string(line) + "\r\nHost: a.test\r\n\r\n")) << line;
  }
}

TEST(ParseRequestHead, WantsOneCleanHost) {
  EXPECT_FALSE(Accepts("GET / HTTP/1.1\r\nA: b\r\n\r\n"));
  EXPECT_TRUE(Accepts("GET / HTTP/1.0\r\nA: b\r\n\r\n"));
  for (std::string_view host : {"a b", "a,b", "u@a", "a/b", "a\\b", "a%2eb"}) {
    EXPECT_FALSE(Accepts("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n")) << host;
  }
}

TEST(ParseRequestHead, OnlyAWebsocketIsAnUpgrade) {
  auto wants = [](std::string_view fields) {
    auto head = ParseRequestHead(Get(fields));
    return head && head->wants_websocket;
  };
  EXPECT_TRUE(wants("Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"));
  EXPECT_FALSE(wants("Connection: Upgrade\r\nUpgrade: h2c\r\n"));
  EXPECT_FALSE(wants("Upgrade: websocket\r\n"));
  EXPECT_FALSE(wants("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n"));
}

TEST(ParseAbsoluteTarget, TakesPlainHttpApart) {
  EXPECT_EQ(*ParseAbsoluteTarget("http://a.test/x?y"), (AbsoluteTarget{"a.test", "/x?y"}));
  EXPECT_EQ(*ParseAbsoluteTarget("HTTP://A.test:8080"), (AbsoluteTarget{"A.test:8080", "/"}));
  EXPECT_EQ(*ParseAbsoluteTarget("http://a.test?y"), (AbsoluteTarget{"a.test", "/?y"}));
  EXPECT_EQ(*ParseAbsoluteTarget("http://[::1]/"), (AbsoluteTarget{"[::1]", "/"}));
}

TEST(ParseAbsoluteTarget, RefusesWhatHidesAHost) {
  for (std::string_view target :
       {"https://a.test/", "ftp://a.test/", "/", "*", "a.test:80", "http:/a.test/", "http:///x",
        "//a.test/", "http://", "http://a@b.test/", "http://b.test#@a.test/",
        "http://b.test\\@a.test/", "http://a%2etest/", "http://a.test/x#y", "http://a,b/",
        "http://a;b/", "http://#"}) {
    EXPECT_FALSE(ParseAbsoluteTarget(target)) << target;
  }
}

TEST(FormatRequest, SaysOnlyWhatWasUnderstood) {
  auto head = ParseRequestHead(
      "PUT http://a.test/x HTTP/1.1\r\nHost: evil.test\r\nConnection: X-Hop, close\r\n"
      "X-Hop: 1\r\nProxy-Authorization: Basic x\r\nTE: trailers\r\nKeep: me\r\n"
      "Transfer-Encoding: chunked\r\nUpgrade: h2c\r\nProxy-Connection: keep-alive\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(FormatRequest(*head, "/x", "a.test"),
            "PUT /x HTTP/1.1\r\nHost: a.test\r\nKeep: me\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(FormatRequest, KeepsTheFramingThatConnectionNames) {
  auto head = ParseRequestHead(
      "PUT http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: content-length, host\r\n"
      "Content-Length: 3\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(FormatRequest(*head, "/", "a.test"),
            "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\n");
}

TEST(ParseResponseHead, KnowsWhetherABodyFollows) {
  auto of = [](std::string_view text, std::string_view method) {
    return *ParseResponseHead(text, method);
  };
  EXPECT_EQ(of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "GET").body,
            (BodyFraming{BodyKind::kLength, 2}));
  EXPECT_FALSE(of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "HEAD").has_body);
  EXPECT_FALSE(of("HTTP/1.1 304 X\r\nContent-Length: 2\r\n\r\n", "GET").has_body);
  EXPECT_FALSE(of("HTTP/1.1 204\r\n\r\n", "GET").has_body);
  EXPECT_FALSE(of("HTTP/1.1 100 Continue\r\n\r\n", "PUT").has_body);
  EXPECT_EQ(of("HTTP/1.1 200 OK\r\n\r\n", "GET").body.kind, BodyKind::kUntilClose);
  EXPECT_EQ(of("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", "GET").keep_alive, KeepAlive::kNo);
  for (std::string_view bad :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n", "ICY 200 OK\r\n\r\n"}) {
    EXPECT_FALSE(ParseResponseHead(bad, "GET")) << bad;
  }
}

}  // namespace
}  // namespace cordon::proxy
