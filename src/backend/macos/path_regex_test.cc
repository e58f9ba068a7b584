#include "backend/macos/path_regex.h"

#include <gmock/gmock.h>
#include <regex.h>

#include <random>

#include "guard/path.h"

namespace cordon::backend {
namespace {

bool Matches(const std::string& regex, const std::string& path) {
  regex_t compiled;
  EXPECT_EQ(regcomp(&compiled, ("^(" + regex + ")$").c_str(), REG_EXTENDED | REG_NOSUB), 0)
      << regex;
  bool matches = regexec(&compiled, path.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return matches;
}

TEST(PathRegex, ATextMatchesItselfAlone) {
  std::string hostile = R"(/Users/^$|()+?{}[a-z]*\.x)";
  EXPECT_TRUE(Matches(RegexOf(hostile, Case::kExact), hostile));
  EXPECT_FALSE(Matches(RegexOf("/a.b", Case::kExact), "/axb"));
  EXPECT_FALSE(Matches(RegexOf("/Ab", Case::kExact), "/aB"));
  EXPECT_TRUE(Matches(RegexOf("/Ab", Case::kAny), "/aB"));
  EXPECT_FALSE(Matches(RegexOf("/a[", Case::kAny), "/a{"));  // 0x20 apart, no letters
}

TEST(PathRegex, AGlobMatchesWhatTheGuardSays) {
  const char* patterns[] = {"/w/**/.env*", "/w/*.lock", "/w/a?c",   "/w/[a-c]x", "/w/[!a-c]x",
                            "/w/[]x]",     "/w/[^]x]",  "/w/[a",    "/w/**",     "/**/x",
                            "/w/[-a]",     "/w/[\\]",   "/w/[!^]y", "/w/[^-]",   "/w/[[]1]"};
  const char* paths[] = {"/w",     "/w/.env", "/w/a/.env.x", "/w/a/b.lock", "/w/b.lock",  "/w/abc",
                         "/w/a/c", "/w/ax",   "/w/dx",       "/w/]",        "/w/x",       "/w/[a",
                         "/w/-",   "/w/\\",   "/w/^y",       "/w/zy",       "/x",         "/w/a",
                         "/w/[1]", "/w//x",   "/",           "/a/b/x",      "/w/a.lock/c"};
  for (const char* pattern : patterns) {
    for (const char* path : paths) {
      if (std::string_view(path).find("//") != std::string_view::npos) continue;
      EXPECT_EQ(Matches(RegexOfGlob(pattern), path), guard::GlobMatch(pattern, path))
          << pattern << " " << path << " " << RegexOfGlob(pattern);
    }
  }
}

TEST(PathRegex, AnyGlobMatchesWhatTheGuardSays) {
  std::mt19937 random(7);
  auto word = [&](std::string_view alphabet, size_t most) {
    std::string text;
    for (size_t i = 0, size = 1 + random() % most; i < size; ++i) {
      text += alphabet[random() % alphabet.size()];
    }
    return text;
  };
  auto path = [&](std::string_view alphabet, size_t most) {
    std::string text;
    for (size_t i = 0, parts = 1 + random() % 2; i < parts; ++i) text += "/" + word(alphabet, most);
    return text;
  };
  int matched = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string pattern = path("ab*?[]-!^\\.", 5);
    std::string subject = path("ab[]-!^\\.", 3);
    if (guard::NormalizePath(pattern) != pattern || guard::NormalizePath(subject) != subject) {
      continue;
    }
    bool expected = guard::GlobMatch(pattern, subject);
    matched += expected ? 1 : 0;
    ASSERT_EQ(Matches(RegexOfGlob(pattern), subject), expected)
        << pattern << " " << subject << " " << RegexOfGlob(pattern);
  }
  EXPECT_GT(matched, 200);
}

}  // namespace
}  // namespace cordon::backend
