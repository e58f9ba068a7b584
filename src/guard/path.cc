#include "guard/path.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace cordon::guard {
namespace {

using Components = std::vector<std::string_view>;

// The components between slashes, without empty ones.
Components SplitComponents(std::string_view path) {
  Components components;
  size_t start = 0;
  while (start < path.size()) {
    size_t end = std::min(path.find('/', start), path.size());
    if (end > start) components.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return components;
}

bool IsAbsolute(std::string_view path) { return !path.empty() && path[0] == '/'; }

// One element of a component pattern: how many pattern bytes it takes and
// whether it accepts `c`.
struct Step {
  size_t length;
  bool accepts;
};

// `set` starts at '['. Nothing if the bracket is never closed.
std::optional<Step> MatchSet(std::string_view set, unsigned char c) {
  size_t i = 1;
  bool negated = i < set.size() && (set[i] == '!' || set[i] == '^');
  if (negated) ++i;
  bool found = false;
  // A ']' right after the opening is a member, not the end.
  for (size_t first = i; i < set.size(); ++i) {
    if (set[i] == ']' && i > first) return Step{i + 1, found != negated};
    auto low = static_cast<unsigned char>(set[i]);
    auto high = low;
    if (i + 2 < set.size() && set[i + 1] == '-' && set[i + 2] != ']') {
      high = static_cast<unsigned char>(set[i + 2]);
      i += 2;
    }
    found = found || (low <= c && c <= high);
  }
  return std::nullopt;
}

// `pattern` is not empty and does not start with '*'.
Step MatchOne(std::string_view pattern, char c) {
  if (pattern[0] == '?') return {1, true};
  if (pattern[0] == '[') {
    if (auto step = MatchSet(pattern, static_cast<unsigned char>(c))) return *step;
  }
  return {1, pattern[0] == c};
}

// Greedy with one point to fall back to: once a later star is reached, an
// earlier one never needs to take more, so time stays quadratic at worst.
bool MatchComponent(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  size_t star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      taken = n;
      continue;
    }
    Step step = p < pattern.size() ? MatchOne(pattern.substr(p), name[n]) : Step{0, false};
    if (step.accepts) {
      p += step.length;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// The same walk over components, with "**" as the star.
bool MatchComponents(const Components& pattern, const Components& names) {
  size_t p = 0, n = 0;
  size_t star = std::string_view::npos, taken = 0;
  while (n < names.size()) {
    if (p < pattern.size() && pattern[p] == "**") {
      star = ++p;
      taken = n;
    } else if (p < pattern.size() && MatchComponent(pattern[p], names[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == "**") ++p;
  return p == pattern.size();
}

// Whether an absolute path has nothing to normalise, which is nearly always so.
bool IsNormal(std::string_view path) {
  if (path == "/") return true;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '/') continue;
    std::string_view rest = path.substr(i + 1, 3);
    bool dots = rest.starts_with("./") || rest == "." || rest == "../" || rest == "..";
    if (rest.empty() || rest[0] == '/' || dots) return false;
  }
  return true;
}

std::string Assemble(const Components& components, bool absolute) {
  std::string path;
  for (std::string_view component : components) {
    if (absolute || !path.empty()) path += '/';
    path += component;
  }
  if (path.empty()) path = absolute ? "/" : ".";
  return path;
}

}  // namespace

std::string NormalizePath(std::string_view path) {
  bool absolute = IsAbsolute(path);
  if (absolute && IsNormal(path)) return std::string(path);
  Components kept;
  for (std::string_view component : SplitComponents(path)) {
    if (component == ".") continue;
    if (component != "..") {
      kept.push_back(component);
    } else if (!kept.empty() && kept.back() != "..") {
      kept.pop_back();
    } else if (!absolute) {
      kept.push_back(component);
    }
  }
  return Assemble(kept, absolute);
}

bool IsInside(std::string_view path, std::string_view root) {
  if (root == "/") return IsAbsolute(path);
  if (root.empty() || !path.starts_with(root)) return false;
  return path.size() == root.size() || path[root.size()] == '/';
}

std::string JoinPath(std::string_view a, std::string_view b) {
  if (IsAbsolute(b) || a.empty()) return std::string(b);
  if (b.empty()) return std::string(a);
  std::string joined(a);
  if (joined.back() != '/') joined += '/';
  joined += b;
  return joined;
}

std::string_view Parent(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view BaseName(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool HasGlob(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return c == '*' || c == '?' || c == '['; });
}

bool GlobMatch(std::string_view pattern, std::string_view path) {
  if (!IsAbsolute(pattern) || !IsAbsolute(path)) return false;
  return MatchComponents(SplitComponents(pattern), SplitComponents(path));
}

std::string EscapeGlob(std::string_view text) {
  if (!HasGlob(text)) return std::string(text);
  std::string pattern;
  for (char c : text) {
    if (c == '*' || c == '?' || c == '[') {
      pattern += {'[', c, ']'};
    } else {
      pattern += c;
    }
  }
  return pattern;
}

std::optional<std::string> UnescapeGlob(std::string_view pattern) {
  if (!HasGlob(pattern)) return std::string(pattern);
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*' || pattern[i] == '?') return std::nullopt;
    bool single = pattern[i] == '[' && i + 2 < pattern.size() && pattern[i + 2] == ']' &&
                  HasGlob(pattern.substr(i + 1, 1));
    if (pattern[i] == '[' && !single) return std::nullopt;
    text += single ? pattern[i + 1] : pattern[i];
    if (single) i += 2;
  }
  return text;
}

std::string GlobBase(std::string_view pattern) {
  if (auto literal = UnescapeGlob(pattern)) return *literal;
  while (pattern != "/") {
    pattern = Parent(pattern);
    if (auto literal = UnescapeGlob(pattern)) return *literal;
  }
  return "/";
}

}  // namespace cordon::guard
