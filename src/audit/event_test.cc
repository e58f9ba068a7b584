#include "audit/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace cordon::audit {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;

const Stamp kStamp{std::chrono::system_clock::time_point(milliseconds(1767225600007)), "run7"};

Json Read(const Event& event) {
  std::string line = ToLine(event, kStamp);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  EXPECT_TRUE(base::IsValidUtf8(line)) << line;
  return Json::parse(line, nullptr, /*allow_exceptions=*/false);
}

TEST(AuditEvent, EveryLineSaysWhichVersionWhenAndOfWhichRun) {
  for (const Event& event :
       {Event(RunStart{}), Event(RunEnd{}), Event(NetEvent{}), Event(Violation{}), Event(Full{})}) {
    Json json = Read(event);
    EXPECT_EQ(json["v"], 1);
    EXPECT_EQ(json["time"], "2026-01-01T00:00:00.007Z");
    EXPECT_EQ(json["run"], "run7");
    EXPECT_EQ(json["kind"], KindOf(event));
  }
}

TEST(AuditEvent, AConnectionHasAllThatWasDecided) {
  NetEvent event{.via = Via::kSocks,
                 .allowed = true,
                 .host = "a.test",
                 .address = "93.184.216.10",
                 .port = 443,
                 .rule = "allow a.test (p.toml:3)",
                 .bytes_out = 5,
                 .bytes_in = uint64_t{1} << 40,
                 .duration_ms = 12};
  EXPECT_EQ(
      ToLine(event, kStamp),
      "{\"v\":1,\"time\":\"2026-01-01T00:00:00.007Z\",\"run\":\"run7\",\"kind\":\"net.allow\","
      "\"via\":\"socks5\",\"name\":\"a.test\",\"port\":443,\"address\":\"93.184.216.10\","
      "\"rule\":\"allow a.test (p.toml:3)\",\"bytes_out\":5,\"bytes_in\":1099511627776,"
      "\"duration_ms\":12}\n");
  event.allowed = false;
  event.reason = Reason::kHostDenied;
  event.hint = "add it";
  Json denied = Read(event);
  EXPECT_EQ(denied["kind"], "net.deny");
  EXPECT_EQ(denied["reason"], "host_denied");
  EXPECT_EQ(denied["hint"], "add it");
}

TEST(AuditEvent, KindsFollowTheDecision) {
  NetEvent net;
  net.reason = Reason::kUpstreamFailed;
  EXPECT_EQ(KindOf(net), "net.fail");
  net.operation = NetOperation::kLookup;
  EXPECT_EQ(KindOf(net), "dns.fail");
  net.reason = Reason::kHostDenied;
  EXPECT_EQ(KindOf(net), "dns.deny");
  net.allowed = true;
  EXPECT_EQ(KindOf(net), "dns.allow");
  EXPECT_FALSE(Read(net).contains("bytes_in"));
  EXPECT_EQ(KindOf(Violation{.reason = Reason::kUnixSocket}), "unix.deny");
  EXPECT_EQ(KindOf(Violation{.reason = Reason::kMemoryLimit}), "limit.kill");
  for (Reason reason : {Reason::kFloorName, Reason::kDeniedNewName, Reason::kSetuidMode}) {
    EXPECT_EQ(KindOf(Violation{.reason = reason}), "fs.deny");
  }
}

TEST(AuditEvent, ARunTellsWhatItWasAndHowItEnded) {
  Json start = Read(
      RunStart{.command = {"sh", "-c", "true"},
               .directory = "/w/d",
               .workspace = "/w",
               .policy = {"preset strict"},
               .backend = "namespaces",
               .enforcement = {{"net", "proxy", Level::kFull, ""}, {"tty", "", Level::kNone, ""}}});
  EXPECT_EQ(start["command"], Json({"sh", "-c", "true"}));
  EXPECT_EQ(start["cwd"], "/w/d");
  EXPECT_EQ(start["enforcement"], Json({{"net", "full"}, {"tty", "none"}}));
  Json end = Read(RunEnd{.outcome = "exited",
                         .reason = Reason::kExited,
                         .exit_status = 3,
                         .usage = {.wall_ms = 1, .cpu_ms = 2, .max_rss_kb = 3},
                         .denials = 4,
                         .lost = 5});
  EXPECT_EQ(end["exit_status"], 3);
  EXPECT_EQ(end["max_rss_kb"], 3);
  EXPECT_EQ(end["denials"], 4);
  EXPECT_EQ(end["lost"], 5);
}

TEST(AuditEvent, HostileWordsCannotSpeakForThemselves) {
  std::string hostile("a\n{\"v\":1}\x1b[2J\0\xff\"\\\xe2\x80\xae", 20);
  NetEvent event{.host = hostile, .address = hostile, .rule = hostile, .detail = hostile};
  Json json = Read(event);
  EXPECT_EQ(json["name"], "a\\x0a{\"v\":1}\\x1b[2J\\x00\\xff\"\\\\xe2\\x80\\xae");
  Json command = Read(RunStart{.command = {hostile, hostile}})["command"];
  EXPECT_THAT(command, ElementsAre(json["name"], json["name"]));
  Json subject = Read(Violation{.subject = hostile})["subject"];
  EXPECT_EQ(subject, json["name"]);
}

TEST(AuditEvent, HugeWordsAreCut) {
  std::string huge(1 << 20, '\x01');
  std::string text = Read(NetEvent{.host = huge})["name"];
  EXPECT_EQ(text.size(), 1024 * 4 + std::string("…").size());
  EXPECT_TRUE(text.ends_with("\\x01…"));
  // Not in the middle of a character.
  std::string wide = std::string(1023, 'a') + "ü" + "b";
  EXPECT_EQ(Read(NetEvent{.host = wide})["name"], std::string(1023, 'a') + "…");
  RunStart start{.command = std::vector<std::string>(100'000, "word")};
  EXPECT_LT(ToLine(start, kStamp).size(), 64U * 1024);
  EXPECT_EQ(Read(start)["command"].back(), "…");
  start.command = {huge, "next"};
  EXPECT_THAT(Read(start)["command"], ElementsAre(text, "…"));
}

}  // namespace
}  // namespace cordon::audit
