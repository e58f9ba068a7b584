#include "tls/companion.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <fstream>

namespace cordon::tls {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kPatienceMs = 20'000;

// An authority that signed nothing here.
constexpr char kStranger[] = R"(-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIURDk7Lvenp6rVWvltK/R9ukUGxPkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdW5pdC10ZXN0MB4XDTI2MTExNjAyMzcwMFoXDTM2MTExMzAy
MzcwMFowFDESMBAGA1UEAwwJdW5pdC10ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEo7aGzDnMYg+h05VqdfRvbibGGY7HT2opN2z48i8YoHJY6XG/BxdGkptD
WjWB/CLHonU0essWQgjDnzD9BZokNqNTMFEwHQYDVR0OBBYEFKEqmhCO3ZKmyxIs
fCC2szSvNe4JMB8GA1UdIwQYMBaAFKEqmhCO3ZKmyxIsfCC2szSvNe4JMA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAIRv+1CWws1odQf051dRameN
nie5iku8kAqfd06JPgJuAiAyYa3OgY76ToQY1bOrWambUwBxmPZTZbWP8bsAgKNn
zw==
-----END CERTIFICATE-----
)";

struct Pair {
  sys::UniqueFd ours, theirs;
};

Pair MakePair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {sys::UniqueFd(ends[0]), sys::UniqueFd(ends[1])};
}

class CompanionTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = testing::TempDir() + "companion_test." + std::to_string(getpid()) + name;
    std::ofstream(path) << text;
    paths_.push_back(path);
    return path;
  }
  ~CompanionTest() override {
    for (const std::string& path : paths_) unlink(path.c_str());
  }

  Companion Start(const std::string& bundle) {
    auto companion = Companion::Start({.bundle = Write(".pem", bundle)});
    EXPECT_TRUE(companion) << companion.error().message;
    return std::move(*companion);
  }

  // One companion as the server that the other is a client of, in memory: the
  // plaintext of both.
  struct Connected {
    Pair server, client;
  };
  Connected Connect(int server, int client, const std::string& served, const std::string& wanted) {
    Connected made{MakePair(), MakePair()};
    Pair network = MakePair();
    const std::array<int, 2> first = {network.ours.get(), made.server.theirs.get()};
    const std::array<int, 2> second = {network.theirs.get(), made.client.theirs.get()};
    EXPECT_EQ(SendOrder(server, Order::kServe, served, "", first), 0);
    EXPECT_EQ(SendOrder(client, Order::kConnect, wanted, "", second), 0);
    made.server.theirs.reset();
    made.client.theirs.reset();
    return made;
  }

  std::string Read(int fd, size_t size) {
    std::string text;
    while (text.size() < size) {
      std::array<char, 4096> buffer;
      pollfd ready{fd, POLLIN, 0};
      if (poll(&ready, 1, kPatienceMs) != 1) return text + "<nothing>";
      ssize_t got = recv(fd, buffer.data(), std::min(buffer.size(), size - text.size()), 0);
      if (got <= 0) return text + "<end>";
      text.append(buffer.data(), static_cast<size_t>(got));
    }
    return text;
  }

  // "" if the handshake worked.
  std::string Verdict(int fd) {
    std::string head = Read(fd, sizeof(tls::Verdict));
    if (head.size() != sizeof(tls::Verdict)) return head;
    tls::Verdict verdict;
    std::memcpy(&verdict, head.data(), sizeof verdict);
    return verdict.good != 0 ? "" : Read(fd, verdict.size);
  }

  std::vector<std::string> paths_;
};

TEST_F(CompanionTest, CarriesPlaintextBothWaysToItsEnd) {
  Companion server = Start(kStranger);
  EXPECT_THAT(server.ca_pem(), StartsWith("-----BEGIN CERTIFICATE-----"));
  Companion client = Start(server.ca_pem());
  sys::UniqueFd serves = server.TakeControl(), connects = client.TakeControl();
  for (const char* host : {"a.test", "b.test", "192.0.2.1"}) {
    Connected made = Connect(serves.get(), connects.get(), host, host);
    ASSERT_EQ(Verdict(made.client.ours.get()), "") << host;
    ASSERT_EQ(Verdict(made.server.ours.get()), "") << host;
    std::string large(100'000, 'x');
    ASSERT_EQ(send(made.client.ours.get(), large.data(), large.size(), MSG_NOSIGNAL), 100'000);
    EXPECT_EQ(Read(made.server.ours.get(), large.size()), large);
    // One direction ends; the other goes on.
    shutdown(made.client.ours.get(), SHUT_WR);
    EXPECT_EQ(Read(made.server.ours.get(), 1), "<end>");
    ASSERT_EQ(send(made.server.ours.get(), "answer", 6, MSG_NOSIGNAL), 6);
    EXPECT_EQ(Read(made.client.ours.get(), 6), "answer");
    made.server.ours.reset();
    EXPECT_EQ(Read(made.client.ours.get(), 1), "<end>");
  }
}

TEST_F(CompanionTest, BelievesNoServerUnverified) {
  Companion server = Start(kStranger);
  Companion knowing = Start(server.ca_pem()), unknowing = Start(kStranger);
  sys::UniqueFd serves = server.TakeControl();
  sys::UniqueFd knows = knowing.TakeControl(), does_not = unknowing.TakeControl();
  Connected made = Connect(serves.get(), does_not.get(), "a.test", "a.test");
  EXPECT_THAT(Verdict(made.client.ours.get()), HasSubstr("certificate is not accepted"));
  // An address is proven by the certificate alone: no name is sent that differs.
  made = Connect(serves.get(), knows.get(), "192.0.2.1", "192.0.2.2");
  EXPECT_THAT(Verdict(made.client.ours.get()), HasSubstr("certificate is not accepted"));
}

TEST_F(CompanionTest, ServesOnlyTheNameThatItWasTold) {
  Companion server = Start(kStranger);
  Companion client = Start(server.ca_pem());
  sys::UniqueFd serves = server.TakeControl(), connects = client.TakeControl();
  Connected made = Connect(serves.get(), connects.get(), "a.test", "b.test");
  EXPECT_NE(Verdict(made.server.ours.get()), "");
  EXPECT_NE(Verdict(made.client.ours.get()), "");
}

TEST_F(CompanionTest, WhatCannotBeReadIsAnError) {
  EXPECT_FALSE(Companion::Start({.bundle = "/nowhere/at/all"}));
  EXPECT_FALSE(Companion::Start({.bundle = Write(".bad", "no certificate")}));
  std::string good = Write(".good", kStranger);
  auto no_key = Companion::Start({.bundle = good, .ca_certificate = good, .ca_key = good});
  ASSERT_FALSE(no_key);
  EXPECT_THAT(no_key.error().message, HasSubstr("net.tls.ca"));
}

}  // namespace
}  // namespace cordon::tls
