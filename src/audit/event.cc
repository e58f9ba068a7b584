#include "audit/event.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace cordon::audit {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
// Of one value, and of all words of a command, in bytes before they are escaped.
constexpr size_t kMostText = 1024;
constexpr size_t kMostCommand = 16 * 1024;

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

std::string Text(std::string_view bytes) {
  std::string_view kept = base::Utf8Prefix(bytes, kMostText);
  return base::Printable(kept) + (kept.size() < bytes.size() ? "…" : "");
}

// 2026-01-31T12:00:00.000Z
std::string Rfc3339(std::chrono::system_clock::time_point time) {
  auto ms = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  time_t seconds = static_cast<time_t>(ms / 1000);
  tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> date{};
  strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::array<char, 8> fraction{};
  snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(ms % 1000));
  return std::string(date.data()) + fraction.data();
}

std::string_view ViaName(Via via) {
  switch (via) {
    case Via::kConnect:
      return "connect";
    case Via::kHttp:
      return "http";
    case Via::kSocks:
      return "socks5";
    case Via::kCapture:
      return "capture";
    case Via::kDns:
      return "dns";
    case Via::kHostPort:
      return "host_port";
    case Via::kPublish:
      return "publish";
  }
  return "";
}

std::string_view NetKind(const NetEvent& event) {
  bool lookup = event.operation == NetOperation::kLookup;
  if (event.allowed) return lookup ? "dns.allow" : "net.allow";
  if (event.reason == Reason::kUpstreamFailed) return lookup ? "dns.fail" : "net.fail";
  return lookup ? "dns.deny" : "net.deny";
}

std::string_view ViolationKind(const Violation& violation) {
  if (violation.reason == Reason::kUnixSocket) return "unix.deny";
  return violation.reason == Reason::kMemoryLimit ? "limit.kill" : "fs.deny";
}

void AddText(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = Text(text);
}

Json Texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  size_t bytes = 0;
  for (const std::string& text : list) {
    bytes += text.size();
    if (bytes > kMostCommand && !json.empty()) {
      json.push_back("…");
      break;
    }
    json.push_back(Text(text));
  }
  return json;
}

void Add(Json& json, const RunStart& start) {
  json["command"] = Texts(start.command);
  json["cwd"] = Text(start.directory);
  json["workspace"] = Text(start.workspace);
  json["policy"] = Texts(start.policy);
  json["backend"] = start.backend;
  Json& enforcement = json["enforcement"] = Json::object();
  for (const Enforcement& item : start.enforcement) {
    enforcement[item.feature] = LevelName(item.level);
  }
}

void Add(Json& json, const RunEnd& end) {
  json["outcome"] = end.outcome;
  json["reason"] = ReasonId(end.reason);
  json["exit_status"] = end.exit_status;
  AddText(json, "message", end.message);
  json["wall_ms"] = end.usage.wall_ms;
  json["cpu_ms"] = end.usage.cpu_ms;
  json["max_rss_kb"] = end.usage.max_rss_kb;
  json["denials"] = end.denials;
  json["lost"] = end.lost;
}

void Add(Json& json, const NetEvent& event) {
  bool connection = event.operation == NetOperation::kConnect;
  json["via"] = ViaName(event.via);
  json["name"] = Text(event.host);
  if (connection) json["port"] = event.port;
  AddText(json, "address", event.address);
  if (!event.allowed) json["reason"] = ReasonId(event.reason);
  AddText(json, "rule", event.rule);
  AddText(json, "hint", event.hint);
  AddText(json, "detail", event.detail);
  if (!connection) return;
  json["bytes_out"] = event.bytes_out;
  json["bytes_in"] = event.bytes_in;
  json["duration_ms"] = event.duration_ms;
}

void Add(Json& json, const Violation& violation) {
  json["operation"] = violation.operation;
  json["subject"] = Text(violation.subject);
  json["reason"] = ReasonId(violation.reason);
  AddText(json, "rule", violation.rule);
  AddText(json, "hint", violation.hint);
}

void Add(Json&, const Full&) {}

}  // namespace

std::string_view KindOf(const Event& event) {
  return std::visit(Overloaded{[](const RunStart&) -> std::string_view { return "run.start"; },
                               [](const RunEnd&) -> std::string_view { return "run.end"; },
                               [](const NetEvent& net) { return NetKind(net); },
                               [](const Violation& denied) { return ViolationKind(denied); },
                               [](const Full&) -> std::string_view { return "audit.full"; }},
                    event);
}

std::string ToLine(const Event& event, const Stamp& stamp) {
  Json json = {
      {"v", kVersion}, {"time", Rfc3339(stamp.time)}, {"run", stamp.run}, {"kind", KindOf(event)}};
  std::visit([&](const auto& body) { Add(json, body); }, event);
  // Nothing throws: all text is valid by now.
  return json.dump() + "\n";
}

}  // namespace cordon::audit
