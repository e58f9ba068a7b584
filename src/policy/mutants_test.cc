// Broken variants of a good policy, made mechanically: each must be refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policy/reader.h"

namespace cordon::policy {
namespace {

using Json = nlohmann::ordered_json;

Json Good() {
  return Json::parse(R"({
    "version": 1, "on_unavailable": "refuse", "require": ["fs"], "trust": "auto",
    "fs": {"read": ["/"], "deny_read": ["~/.ssh"], "allow_read_within_deny": ["~/.ssh/known_hosts"],
      "write": ["."], "deny_write": ["*.lock"], "deny_new": ["**/.env*"], "data_dir": "~/.a",
      "temp": "private", "temp_size": "1GiB", "caches": "private", "devices": ["/dev/kvm"],
      "git": "protect", "scan_depth": 5},
    "net": {"mode": "proxy", "allow": ["github.com"], "deny": ["x.com"], "unix_sockets": ["/s"],
      "unix_sockets_dangerous": ["/d"], "local_binding": false, "publish": [3000],
      "host_ports": [5432], "upstream": "http://p:1", "external": {"http": 8080, "socks": 1080},
      "private_addresses": "deny", "tls": {"intercept": ["a.com"]}},
    "exec": {"deny": ["/usr/bin/sudo"], "nesting": false, "excluded": ["docker"],
      "allow_unsandboxed": false},
    "env": {"mode": "clean", "pass": ["LANG"], "set": {}},
    "limits": {"wall": "60s", "cpu": "300s", "memory": "2GiB", "processes": 256,
      "open_files": 1024, "file_size": "1GiB", "output": "50kB"},
    "workspace": {"provider": "direct"},
    "audit": {"log": "~/a.jsonl", "denials": "exact"},
    "leaks": {"scan": true, "on_leak": "redact"}})");
}

Result<Policy> ReadJson(const std::string& text) {
  Context context{.home = "/home/u", .workspace = "/w", .env = {}};
  return Read(text, Format::kJson, "p.json", context, Policy{});
}

void ExpectRefused(const std::string& text) {
  auto policy = ReadJson(text);
  EXPECT_FALSE(policy) << text.substr(0, 2000);
}

using Pointer = Json::json_pointer;

void Collect(const Json& value, const Pointer& at, std::vector<Pointer>& pointers) {
  for (const auto& [key, member] : value.items()) {
    pointers.push_back(at / key);
    if (member.is_object()) Collect(member, at / key, pointers);
  }
}

std::vector<Pointer> AllKeys() {
  std::vector<Pointer> pointers;
  Collect(Good(), Pointer(), pointers);
  return pointers;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Mutants, TheGoodOneReads) {
  auto policy = ReadJson(Good().dump());
  ASSERT_TRUE(policy) << policy.error().message;
}

TEST(Mutants, AMisspeltKeyIsRefused) {
  for (const Pointer& at : AllKeys()) {
    std::string key = at.back();
    std::string upper = key;
    for (char& c : upper) c = static_cast<char>(toupper(c));
    for (const std::string& name : {upper, key + " ", key + "s", Replaced(key, "e", "\u0435"),
                                    key + "\u200b", " " + key, key + std::string(1, '\0')}) {
      if (name == key) continue;
      Json mutant = Good();
      Json& parent = mutant[at.parent_pointer()];
      parent[name] = parent[key];
      parent.erase(key);
      ExpectRefused(mutant.dump());
    }
  }
}

TEST(Mutants, AValueOfAnotherTypeIsRefused) {
  const Json bad[] = {nullptr,
                      0,
                      -1,
                      12345678901234567890u,
                      "x",
                      "",
                      Json::array(),
                      Json::object(),
                      true,
                      1.5,
                      {nullptr},
                      {Json::array()},
                      {""},
                      {std::string(1, '\0')}};
  for (const Pointer& at : AllKeys()) {
    for (const Json& value : bad) {
      Json mutant = Good();
      bool numbers = mutant[at].is_number() && value.is_number();
      bool harmless = value.is_array() && value.empty() && mutant[at].is_array();
      bool same = value.type() == mutant[at].type() && value != "" && !value.is_array();
      if (harmless || same || (numbers && value != 0)) continue;
      mutant[at] = value;
      ExpectRefused(mutant.dump());
    }
    Json table = Good();
    if (table[at].is_object() && at.back() == "set") continue;
    table[at] = {{"a", 1}};
    ExpectRefused(table.dump());
  }
}

TEST(Mutants, NumbersOutOfRangeAreRefused) {
  for (const char* at :
       {"/version", "/fs/scan_depth", "/limits/processes", "/limits/wall", "/net/external/http"}) {
    for (const Json& value : {Json(0), Json(-1), Json(12345678901234567890u), Json(1e300)}) {
      Json mutant = Good();
      mutant[Pointer(at)] = value;
      ExpectRefused(mutant.dump());
    }
  }
}

TEST(Mutants, ADuplicateKeyIsRefused) {
  std::string text = Good().dump();
  for (const Pointer& at : AllKeys()) {
    std::string key = '"' + at.back() + "\":";
    ExpectRefused(Replaced(text, key, key + "null," + key));
    Json value = Good()[at];
    ExpectRefused(Replaced(text, key, key + value.dump() + "," + key));
  }
}

TEST(Mutants, BrokenTextIsRefused) {
  std::string text = Good().dump();
  std::string quotes = text;
  for (char& c : quotes) c = c == '"' ? '\'' : c;
  std::string utf16 = "\xff\xfe";
  for (char c : text) utf16 += {c, '\0'};
  std::string short_text = text.substr(0, text.size() - 1);
  for (const std::string& mutant :
       {"\xef\xbb\xbf" + text, short_text, text + "}", text + " x", std::string(),
        std::string("null"), std::string("[]"), std::string("\"x\""), std::string("{}x"),
        Replaced(text, "{", "{/*c*/"), short_text + ",}", Replaced(text, ":", ":NaN,\"z\":"),
        std::string(100000, '['), utf16, quotes, text + std::string(1, '\0'),
        std::string("\xff\xfe{}")}) {
    ExpectRefused(mutant);
  }
}

TEST(Mutants, AnEmptyListGrantsNothing) {
  for (const Pointer& at : AllKeys()) {
    Json mutant = Good();
    if (!mutant[at].is_array()) continue;
    mutant[at] = Json::array();
    EXPECT_TRUE(ReadJson(mutant.dump()));
  }
}

}  // namespace
}  // namespace cordon::policy
