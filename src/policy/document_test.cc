#include "policy/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace cordon::policy {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<Node> Toml(std::string_view text) { return ParseDocument(text, Format::kToml, "p.toml"); }
Result<Node> Json(std::string_view text) { return ParseDocument(text, Format::kJson, "p.json"); }

TEST(Document, EveryTomlNodeKnowsItsLine) {
  auto root = Toml("version = 1\n\n[fs]\nread = [\n  \"/a\",\n  \"/b\",\n]\ngit = \"off\"\n");
  ASSERT_TRUE(root) << root.error().message;
  const Node* fs = root->Find("fs");
  ASSERT_NE(fs, nullptr);
  EXPECT_EQ(root->Find("version")->line, 1);
  EXPECT_EQ(root->Find("version")->integer, 1);
  EXPECT_EQ(fs->Find("read")->items[0].line, 5);
  EXPECT_EQ(fs->Find("read")->items[1].line, 6);
  EXPECT_EQ(fs->Find("git")->line, 8);
  EXPECT_EQ(fs->Find("git")->text, "off");
}

TEST(Document, EveryJsonNodeKnowsItsLine) {
  auto root = Json("{\n \"version\": 1\n,\n \"fs\": {\n  \"read\": [\"/a\",\n   \"/b\"]\n }\n}\n");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(root->Find("version")->line, 2);
  EXPECT_EQ(root->Find("fs")->line, 4);
  EXPECT_EQ(root->Find("fs")->Find("read")->items[0].line, 5);
  EXPECT_EQ(root->Find("fs")->Find("read")->items[1].line, 6);
}

TEST(Document, TomlAndJsonGiveTheSameTree) {
  auto toml = Toml("a = true\nb = [1, \"x\"]\n");
  auto json = Json("{\"a\": true,\n\"b\": [1, \"x\"]}");
  ASSERT_TRUE(toml && json);
  toml->line = json->line;
  EXPECT_EQ(*toml, *json);
}

TEST(Document, RefusesBrokenJson) {
  const std::string deep(100000, '[');
  const std::string cases[] = {"",
                               " ",
                               "null",
                               "[]",
                               "\"x\"",
                               "1",
                               "{}x",
                               "{} {}",
                               "{",
                               "{\"a\":1,}",
                               "{/*c*/\"a\":1}",
                               "{\"a\":NaN}",
                               "{\"a\":Infinity}",
                               "{'a':1}",
                               "{\"a\":1,\"a\":1}",
                               "{\"b\":{\"a\":1,\"a\":2}}",
                               "\xef\xbb\xbf{}",
                               std::string("{}\0", 3),
                               "\xff\xfe{}",
                               "{\"a\":\"\xff\"}",
                               deep,
                               "{\"a\":1e999}",
                               "{\"a\":\"\\ud800\"}",
                               "{\"a\":01}",
                               "{\"a\":\"\n\"}",
                               "// c\n{}",
                               std::string("{\0\"\0", 4)};
  for (const std::string& text : cases) {
    auto root = Json(text);
    ASSERT_FALSE(root) << text.substr(0, 40);
    EXPECT_EQ(root.error().reason, Reason::kPolicySyntax);
    EXPECT_THAT(root.error().message, StartsWith("p.json"));
  }
}

TEST(Document, RefusesBrokenToml) {
  const std::string cases[] = {"a",
                               "a =",
                               "a = 1\na = 2\n",
                               "[t]\n[t]\n",
                               "[t]\na=1\n[t]\nb=1\n",
                               "a = \"x",
                               "a = [1",
                               "= 1",
                               "a = 1 b = 2",
                               "a.b = 1\na = 2\n",
                               "[[t]]\n[t]\n",
                               std::string("\xef\xbb\xbf") + "a = 1",
                               std::string("a = 1\0", 6),
                               "a = \"\xff\"",
                               "a = 'x\n'",
                               "a = \"\\q\"",
                               "a = {b = 1\n}",
                               "{}",
                               "[fs\nread = []",
                               "a = tru",
                               "a = 08",
                               "a = \"\\ud800\"",
                               "a = " + std::string(100000, '['),
                               "a = [\"]\"" + std::string(70, '[') + "1",
                               std::string(500000, 'a') + "." +
                                   [] {
                                     std::string dots;
                                     for (int i = 0; i < 10000; ++i) dots += "a.";
                                     return dots;
                                   }() +
                                   "a = 1"};
  for (const std::string& text : cases) {
    auto root = Toml(text);
    ASSERT_FALSE(root) << text.substr(0, 40);
    EXPECT_EQ(root.error().reason, Reason::kPolicySyntax);
    EXPECT_THAT(root.error().message, StartsWith("p.toml"));
    EXPECT_EQ(root.error().message.find('\n'), std::string::npos);
  }
}

TEST(Document, AnIntegerThatDoesNotFitIsNotAnInteger) {
  for (std::string number : {"12345678901234567890", "9223372036854775808"}) {
    EXPECT_EQ(Toml("a = " + number)->Find("a")->kind, Node::Kind::kOther);
    EXPECT_EQ(Json("{\"a\":" + number + "}")->Find("a")->kind, Node::Kind::kOther);
  }
  EXPECT_FALSE(Toml("a = 0b1" + std::string(61, '0')));
  EXPECT_EQ(Toml("a = 0b101")->Find("a")->integer, 5);
  EXPECT_EQ(Toml("a = 0xffffffffffffffff")->Find("a")->kind, Node::Kind::kOther);
}

TEST(Document, SaysTheLineOfASyntaxError) {
  EXPECT_THAT(Toml("a = 1\nb = = 2\n").error().message, StartsWith("p.toml:2: "));
  EXPECT_THAT(Json("{\n\"a\": 1\n\"b\": 2}").error().message, StartsWith("p.json:3: "));
  EXPECT_THAT(Json("{\"a\":1,\n\"a\":1}").error().message, HasSubstr(":2: duplicate key \"a\""));
}

TEST(Document, RefusesMoreThanAMebibyte) {
  EXPECT_FALSE(Toml(std::string(kMaxDocumentBytes + 1, '\n')));
  EXPECT_FALSE(Json("{}" + std::string(kMaxDocumentBytes, ' ')));
}

TEST(Document, ALargeFileIsNotQuadratic) {
  std::string text = "a = [\n";
  while (text.size() < 300000) text += "\"/some/path\",\n";
  text += "]\n";
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Toml(text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Document, BracketsInStringsAndCommentsAreNotNesting) {
  std::string many(200, '[');
  EXPECT_TRUE(Toml("a = \"" + many + "\" # " + many + "\nb = '" + many + "'\nc = \"\"\"" + many +
                   "\"\"\"\n"));
}

TEST(Document, UnflattenRestoresTheTree) {
  using enum Node::Kind;
  static constexpr FlatNode kNodes[] = {{kTable, 1, 2, "", "", 0},
                                        {kInteger, 1, 0, "a", "", 7},
                                        {kArray, 2, 1, "b", "", 0},
                                        {kString, 2, 0, "", "x", 0}};
  Node expected{.line = 1};
  expected.members.emplace_back("a", Node{.kind = kInteger, .line = 1, .integer = 7});
  Node list{.kind = kArray, .line = 2};
  list.items.push_back({.kind = kString, .line = 2, .text = "x"});
  expected.members.emplace_back("b", list);
  EXPECT_EQ(Unflatten(kNodes), expected);
}

}  // namespace
}  // namespace cordon::policy
