// The whole proxy on loopback, where only literal addresses can be allowed;
// tests/network has the rest.
#include "proxy/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>

namespace cordon::proxy {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

sockaddr_in Loopback(int port) {
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct Listener {
  sys::UniqueFd fd;
  int port = 0;
};

Listener Listen() {
  Listener made{sys::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(made.fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(made.fd.get(), 64), 0);
  EXPECT_EQ(getsockname(made.fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  made.port = ntohs(address.sin_port);
  return made;
}

class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(port);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void Say(std::string_view words) {
    EXPECT_EQ(send(fd_.get(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
  }
  // To the end, "<reset>" if that is how it ended; or until `mark` has come.
  std::string Hear(std::string_view mark = {}) {
    std::string heard;
    char buffer[4096];
    for (;;) {
      pollfd waiting{.fd = fd_.get(), .events = POLLIN};
      if (poll(&waiting, 1, 20'000) != 1) return heard + "<silence>";
      ssize_t got = recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got < 0) return heard + "<reset>";
      if (got == 0) return heard;
      heard.append(buffer, static_cast<size_t>(got));
      if (!mark.empty() && heard.find(mark) != heard.npos) return heard;
    }
  }

 private:
  sys::UniqueFd fd_;
};

class ProxyTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> allow, Limits limits = {}, int host_port = 0) {
    ProxyOptions options{.limits = limits};
    options.rules.mode = NetMode::kProxy;
    for (const std::string& text : allow) {
      options.rules.allow.push_back(*guard::ParseHostPattern(text));
    }
    options.on_event = [this](const NetEvent& event) {
      std::lock_guard lock(mutex_);
      events_.push_back(event);
      changed_.notify_all();
    };
    Listeners listeners;
    for (auto [port, fds] : {std::pair{&mux_, &listeners.mux}, {&capture_, &listeners.capture}}) {
      Listener made = Listen();
      *port = made.port;
      fds->push_back(std::move(made.fd));
    }
    if (host_port != 0) {
      Listener made = Listen();
      forward_ = made.port;
      listeners.host_ports.push_back({std::move(made.fd), host_port});
    }
    auto started = Proxy::Start(std::move(options), std::move(listeners));
    ASSERT_TRUE(started) << started.error().message;
    proxy_.emplace(std::move(*started));
  }

  NetEvent NextEvent() {
    std::unique_lock lock(mutex_);
    bool came = changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !events_.empty(); });
    EXPECT_TRUE(came);
    if (!came) return {};
    NetEvent event = events_.front();
    events_.erase(events_.begin());
    return event;
  }

  int mux_ = 0;
  int capture_ = 0;
  int forward_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<NetEvent> events_;
  std::optional<Proxy> proxy_;
};

TEST_F(ProxyTest, ALiteralAddressIsReached) {
  Listener server = Listen();
  Start({"127.0.0.1:" + std::to_string(server.port)});
  Client client(mux_);
  client.Say("CONNECT 127.0.0.1:" + std::to_string(server.port) + " HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Hear("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  proxy_.reset();
  NetEvent event = NextEvent();
  EXPECT_TRUE(event.allowed);
  EXPECT_EQ(event.via, Via::kConnect);
  EXPECT_EQ(event.address, "127.0.0.1");
}

TEST_F(ProxyTest, AForwardedPortIsAnEventOfItsOwn) {
  Listener server = Listen();
  Start({}, {}, server.port);
  Client client(forward_);
  client.Say("hello");
  pollfd came{.fd = server.fd.get(), .events = POLLIN};
  ASSERT_EQ(poll(&came, 1, 20'000), 1);
  sys::UniqueFd accepted(accept4(server.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  char words[6] = {};
  ASSERT_EQ(recv(accepted.get(), words, 5, MSG_WAITALL), 5);
  // Rules have no say here: a forward outlives those that it is not in.
  proxy_->Reload({.mode = NetMode::kNone});
  ASSERT_EQ(send(accepted.get(), "welcome", 7, MSG_NOSIGNAL), 7);
  EXPECT_EQ(client.Hear("welcome"), "welcome");
  accepted.reset();
  EXPECT_EQ(client.Hear(), "");
  proxy_.reset();
  NetEvent event = NextEvent();
  EXPECT_TRUE(event.allowed);
  EXPECT_EQ(event.via, Via::kHostPort);
  EXPECT_EQ(event.rule, "net.host_ports");
  EXPECT_EQ(event.address, "127.0.0.1");
  EXPECT_EQ(event.port, server.port);
  EXPECT_EQ(event.bytes_out, 5U);
  EXPECT_EQ(event.bytes_in, 7U);
}

TEST_F(ProxyTest, AForwardedPortWithoutAServerIsAFailure) {
  int port = Listen().port;
  Start({}, {}, port);
  Client client(forward_);
  EXPECT_EQ(client.Hear(), "<reset>");
  NetEvent event = NextEvent();
  EXPECT_FALSE(event.allowed);
  EXPECT_EQ(event.reason, Reason::kUpstreamFailed);
  EXPECT_EQ(event.via, Via::kHostPort);
  EXPECT_EQ(event.port, port);
}

TEST_F(ProxyTest, PasswordsAndQueriesAreInNoEvent) {
  Start({"a.test"});
  for (const char* words : {"CONNECT me:secret@a.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
                            "GET http://me:secret@a.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
                            "GET http:///path?key=secret HTTP/1.1\r\nHost: x\r\n\r\n"}) {
    Client client(mux_);
    client.Say(words);
    EXPECT_THAT(client.Hear(), StartsWith("HTTP/1.1 400 ")) << words;
    NetEvent event = NextEvent();
    EXPECT_FALSE(event.allowed);
    for (const std::string& text : {event.host, event.rule, event.detail, event.hint}) {
      EXPECT_THAT(text, Not(HasSubstr("secret"))) << words;
    }
  }
}

TEST_F(ProxyTest, ACapturedAddressThatNobodyAllowedIsReset) {
  Start({"a.test"});
  Client client(capture_);
  EXPECT_EQ(client.Hear(), "<reset>");
  NetEvent event = NextEvent();
  EXPECT_FALSE(event.allowed);
  EXPECT_EQ(event.host, "127.0.0.1");
  EXPECT_EQ(event.port, capture_);
}

TEST_F(ProxyTest, AHeadThatDoesNotComeInTimeIsTold) {
  Start({}, {.handshake_ms = 300});
  Client silent(mux_);
  Client slow(mux_);
  slow.Say("GET http://a.te");
  EXPECT_THAT(slow.Hear(), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(silent.Hear(), "");
}

TEST_F(ProxyTest, AnIdleTunnelIsEnded) {
  Listener server = Listen();
  Start({"127.0.0.1:" + std::to_string(server.port)}, {.idle_ms = 300});
  Client client(mux_);
  client.Say("CONNECT 127.0.0.1:" + std::to_string(server.port) + " HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Hear(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ProxyTest, MoreConnectionsThanAllowedAreClosed) {
  Start({}, {.connections = 2});
  Client first(mux_), second(mux_);
  first.Say("G");
  second.Say("G");
  // A connection counts from when it was accepted, so that some more may be
  // needed before one is refused.
  Client third(mux_);
  EXPECT_THAT(third.Hear(), testing::AnyOf("", "<reset>"));
  first.Say("ET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first.Hear(), HasSubstr("X-Cordon-Reason: request_invalid"));
}

TEST_F(ProxyTest, NewRulesCutWhatTheyDoNotAllow) {
  Listener server = Listen();
  Start({"127.0.0.1:" + std::to_string(server.port)});
  Client client(mux_);
  client.Say("CONNECT 127.0.0.1:" + std::to_string(server.port) + " HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Hear("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  proxy_->Reload({.mode = NetMode::kProxy});
  EXPECT_EQ(client.Hear(), "<reset>");
}

TEST_F(ProxyTest, AnUpstreamThatCannotBeReadIsAnError) {
  ProxyOptions options{.upstream = "gopher://x"};
  EXPECT_FALSE(Proxy::Start(std::move(options), {}));
}

}  // namespace
}  // namespace cordon::proxy
