#include "guard/path.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <vector>

namespace cordon::guard {
namespace {

TEST(NormalizePath, ResolvesByTextAlone) {
  const std::pair<const char*, const char*> cases[] = {{"/", "/"},
                                                       {"//", "/"},
                                                       {"/..", "/"},
                                                       {"/../../a", "/a"},
                                                       {"/a/./b//c/", "/a/b/c"},
                                                       {"/a/b/..", "/a"},
                                                       {"/a/../..", "/"},
                                                       {"/.../..a", "/.../..a"},
                                                       {"", "."},
                                                       {".", "."},
                                                       {"a/..", "."},
                                                       {"../a/../b", "../b"},
                                                       {"a//b/", "a/b"},
                                                       {"/a\n/\xff", "/a\n/\xff"}};
  for (auto [in, out] : cases) EXPECT_EQ(NormalizePath(in), out) << in;
}

TEST(NormalizePath, LeavesNothingToNormalise) {
  // Every text over this alphabet, against the definition of a normal path.
  std::string text(6, '/');
  for (int code = 0; code < 729; ++code) {
    for (int i = 1, rest = code; i < 6; ++i, rest /= 3) text[i] = "/.a"[rest % 3];
    std::string normal = NormalizePath(text);
    EXPECT_EQ(normal.find("//"), std::string::npos) << text;
    for (const char* part : {"/./", "/../"}) {
      EXPECT_EQ((normal + "/").find(part), std::string::npos) << text;
    }
    EXPECT_TRUE(normal == "/" || !normal.ends_with('/')) << text;
  }
}

TEST(NormalizePath, IsIdempotent) {
  for (const char* path : {"/a/./../b//..", "../..//x/", "//..//a/...", "./."}) {
    std::string once = NormalizePath(path);
    EXPECT_EQ(NormalizePath(once), once);
  }
}

TEST(IsInside, ComparesWholeComponents) {
  EXPECT_TRUE(IsInside("/good", "/good"));
  EXPECT_TRUE(IsInside("/good/x", "/good"));
  EXPECT_FALSE(IsInside("/goodish", "/good"));
  EXPECT_FALSE(IsInside("/", "/good"));
  EXPECT_TRUE(IsInside("/", "/"));
  EXPECT_TRUE(IsInside("/a", "/"));
  EXPECT_FALSE(IsInside("a", "/"));
  EXPECT_FALSE(IsInside("/a", ""));
}

TEST(JoinPath, AbsoluteSecondWins) {
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a", "/b"), "/b");
  EXPECT_EQ(JoinPath("/a", ""), "/a");
  EXPECT_EQ(JoinPath("", "b"), "b");
}

TEST(Parent, AndBaseNameSplitAtTheLastSlash) {
  EXPECT_EQ(Parent("/a/b"), "/a");
  EXPECT_EQ(Parent("/a"), "/");
  EXPECT_EQ(Parent("/"), "/");
  EXPECT_EQ(Parent("a"), ".");
  EXPECT_EQ(BaseName("/a/b"), "b");
  EXPECT_EQ(BaseName("/"), "");
  EXPECT_EQ(BaseName("a"), "a");
}

TEST(GlobBase, StopsBeforeTheFirstGlobComponent) {
  EXPECT_EQ(GlobBase("/a/b*/c"), "/a");
  EXPECT_EQ(GlobBase("/a/b/**"), "/a/b");
  EXPECT_EQ(GlobBase("/*"), "/");
  EXPECT_EQ(GlobBase("/a/b"), "/a/b");
  EXPECT_EQ(GlobBase("/a[[]1]/**/x"), "/a[1]");
  EXPECT_EQ(GlobBase("/a[1]/x"), "/");
}

TEST(EscapeGlob, MatchesOnlyItself) {
  for (const char* text : {"/a[1]", "/a*b?", "/plain", "/[", "/[[]", "/]"}) {
    std::string pattern = EscapeGlob(text);
    EXPECT_TRUE(GlobMatch(pattern, text)) << text;
    EXPECT_EQ(UnescapeGlob(pattern), text);
  }
  EXPECT_FALSE(GlobMatch(EscapeGlob("/a*b"), "/axb"));
  EXPECT_EQ(UnescapeGlob("/a[1]"), std::nullopt);
  EXPECT_EQ(UnescapeGlob("/a*"), std::nullopt);
}

struct GlobCase {
  const char* pattern;
  const char* path;
  bool match;
};

TEST(GlobMatch, DoesWhatTheDocumentationSays) {
  const GlobCase cases[] = {
      {"/w/**/.env", "/w/.env", true},
      {"/w/**/.env", "/w/a/b/.env", true},
      {"/w/**/.env", "/w/a/.envrc", false},
      {"/w/**/.env*", "/w/a/.envrc", true},
      {"/w/secrets/**", "/w/secrets", true},
      {"/w/secrets/**", "/w/secrets/a/b", true},
      {"/w/secrets/**", "/w/secretsx", false},
      {"/w/*.lock", "/w/a.lock", true},
      {"/w/*.lock", "/w/a/b.lock", false},
      {"/w/?", "/w/ab", false},
      {"/w/[a-c]x", "/w/bx", true},
      {"/w/[!a-c]x", "/w/bx", false},
      {"/w/[!a-c]x", "/w/dx", true},
      {"/w/[]a]", "/w/]", true},
      {"/w/[!]]", "/w/]", false},
      {"/w/[a-]", "/w/-", true},
      {"/w/[a", "/w/[a", true},
      {"/w/[a/b]", "/w/[a/b]", true},
      {"/w/a**b", "/w/axxb", true},
      {"/w/a**b", "/w/ax/xb", false},
      {"/**", "/", true},
      {"/*", "/", false},
      {"/w/\xff?", "/w/\xff\xfe", true},
      {"/w/[\x80-\xff]", "/w/\xc3", true},
      {"w/*", "/w/a", false},
  };
  for (const GlobCase& c : cases) {
    EXPECT_EQ(GlobMatch(c.pattern, c.path), c.match) << c.pattern << " " << c.path;
  }
}

// The definition, written down with no thought of time.
bool NaiveComponent(std::string_view p, std::string_view n) {
  if (p.empty()) return n.empty();
  if (p[0] == '*') {
    return NaiveComponent(p.substr(1), n) || (!n.empty() && NaiveComponent(p, n.substr(1)));
  }
  return !n.empty() && (p[0] == '?' || p[0] == n[0]) && NaiveComponent(p.substr(1), n.substr(1));
}

std::pair<std::string_view, std::string_view> Cut(std::string_view path) {
  size_t end = std::min(path.find('/', 1), path.size());
  return {path.substr(1, end - 1), path.substr(end)};
}

bool Naive(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return path.empty();
  auto [p, pattern_rest] = Cut(pattern);
  if (p == "**" && Naive(pattern_rest, path)) return true;
  if (path.empty()) return false;
  auto [n, path_rest] = Cut(path);
  if (p == "**") return Naive(pattern, path_rest);
  return NaiveComponent(p, n) && Naive(pattern_rest, path_rest);
}

// All texts over `alphabet` up to `length` that start with a slash and have no
// empty component.
std::vector<std::string> Texts(std::string_view alphabet, size_t length) {
  std::vector<std::string> texts;
  std::function<void(std::string)> grow = [&](std::string text) {
    if (text.size() > 1 && text.back() != '/') texts.push_back(text);
    if (text.size() == length) return;
    for (char c : alphabet) {
      if (c != '/' || text.back() != '/') grow(text + c);
    }
  };
  grow("/");
  return texts;
}

TEST(GlobMatch, AgreesWithTheDefinitionOnEverySmallCase) {
  std::vector<std::string> paths = Texts("ab/", 6);
  size_t matches = 0;
  for (const std::string& pattern : Texts("a*?/", 6)) {
    for (const std::string& path : paths) {
      bool expected = Naive(pattern, path);
      matches += expected;
      ASSERT_EQ(GlobMatch(pattern, path), expected) << pattern << " " << path;
    }
  }
  EXPECT_GT(matches, 1000u);
}

TEST(GlobMatch, DoesNotBlowUp) {
  std::string pattern, path;
  for (int i = 0; i < 200; ++i) {
    pattern += "/**/*a*a*a*b";
    path += "/aaaaaaaaaaaaaaaaaaaa";
  }
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(GlobMatch(pattern, path));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace cordon::guard
