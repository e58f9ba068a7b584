#include "policy/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "policy/compose.h"
#include "policy/preset.h"
#include "policy/reader.h"
#include "policy/schema.h"

namespace cordon::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Context Ctx() { return {.home = "/home/u", .workspace = "/w [1]$x", .env = {}}; }

std::vector<Policy> Samples() {
  std::vector<Policy> samples = {Policy{}, Unrestricted()};
  for (const std::string& name : PresetNames()) samples.push_back(*Preset(name, Ctx()));
  std::string all;
  for (const Key& key : Keys()) {
    all += std::string(key.name) + " = " + std::string(key.example) + "\n";
  }
  auto everything = Read(all, Format::kToml, "all", Ctx(), Policy{});
  EXPECT_TRUE(everything) << everything.error().message;
  samples.push_back(*everything);
  everything->net.external = ExternalProxy{.command = {"a \"quoted\" proxy", "\\"}};
  everything->env.set["ODD"] = "a\nb\t\"\\\x01é";
  everything->fs.data_dir = std::nullopt;
  samples.push_back(*everything);
  return samples;
}

TEST(RenderToml, ReadsBackAsTheSamePolicy) {
  for (const Policy& policy : Samples()) {
    std::string text = RenderToml(policy);
    auto again = Read(text, Format::kToml, "rendered", Ctx(), Policy{});
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    EXPECT_EQ(*again, policy) << text;
  }
}

TEST(RenderJson, ReadsBackAsTheSamePolicy) {
  for (const Policy& policy : Samples()) {
    std::string text = RenderJson(policy);
    auto again = Read(text, Format::kJson, "rendered", Ctx(), Policy{});
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    EXPECT_EQ(*again, policy) << text;
  }
}

TEST(RenderToml, SaysWhereEachLineCameFrom) {
  auto policy = Preset("rx", Ctx());
  policy = Read("[limits]\nwall = \"5s\"\n[fs]\nread = [\"/x\"]\n", Format::kToml, "my.toml", Ctx(),
                *policy);
  policy = Assign({"net.mode", "open", "flag --net"}, Ctx(), *policy);
  std::string text = RenderToml(*policy);
  EXPECT_THAT(text, HasSubstr("wall = \"5s\"  # my.toml:2\n"));
  EXPECT_THAT(text, HasSubstr("  \"/x\",  # my.toml:4\n"));
  EXPECT_THAT(text, HasSubstr("mode = \"open\"  # flag --net\n"));
  EXPECT_THAT(text, HasSubstr("  \"?/home/u/.gnupg\",  # preset workspace:"));
}

TEST(Diff, NamesWhatChanged) {
  Policy a = *Preset("workspace", Ctx());
  EXPECT_TRUE(Diff(a, a).empty());
  Policy b = *Assign({"net.mode", "open", "f"}, Ctx(), a);
  b = *Assign({"fs.write", "/srv", "f"}, Ctx(), b);
  EXPECT_THAT(Diff(a, b),
              ElementsAre("- net.mode \"proxy\"", "+ fs.write \"/srv\"", "+ net.mode \"open\""));
}

TEST(JsonSchema, IsJsonAndKnowsEveryKey) {
  auto schema = nlohmann::json::parse(JsonSchema());
  for (const Key& key : Keys()) {
    const nlohmann::json* at = &schema;
    std::string name(key.name);
    for (size_t start = 0; start <= name.size();) {
      size_t dot = std::min(name.find('.', start), name.size());
      std::string part = name.substr(start, dot - start);
      EXPECT_FALSE(at->at("additionalProperties").get<bool>());
      ASSERT_TRUE(at->at("properties").contains(part)) << name;
      at = &at->at("properties").at(part);
      start = dot + 1;
    }
    EXPECT_EQ(at->at("description"), std::string(key.doc));
  }
}

// To renew it: put what this prints between the two markers of the page.
TEST(Documentation, HasExactlyTheGeneratedTable) {
  std::ifstream file(CORDON_SOURCE_DIR "/docs/policy.md");
  std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string begin = "<!-- keys -->\n", end = "<!-- /keys -->";
  size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  from += begin.size();
  EXPECT_EQ(page.substr(from, to - from), MarkdownTable());
}

}  // namespace
}  // namespace cordon::policy
