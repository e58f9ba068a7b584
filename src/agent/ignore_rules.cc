#include "agent/ignore_rules.h"

#include <ranges>

#include "base/strings.h"
#include "guard/path.h"

namespace cordon::agent {
namespace {

constexpr size_t kMostRules = 5000;

std::string_view WithoutTrailingSpace(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

}  // namespace

void IgnoreRules::Add(std::string_view directory, std::string_view text) {
  std::string base = directory == "/" ? "" : guard::EscapeGlob(directory);
  for (const std::string& whole : base::Split(text, '\n')) {
    std::string_view line = WithoutTrailingSpace(whole);
    if (line.empty() || line.starts_with('#') || rules_.size() >= kMostRules) continue;
    Rule rule;
    if (line.starts_with('!')) {
      rule.negated = true;
      line.remove_prefix(1);
    }
    if (line.starts_with('\\')) line.remove_prefix(1);
    if (line.ends_with('/')) {
      rule.directory_only = true;
      line.remove_suffix(1);
    }
    if (line.empty()) continue;
    bool anchored = line.find('/') != line.npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    rule.pattern = base + (anchored ? "/" : "/**/") + std::string(line);
    rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::Ignores(std::string_view path, EntryKind kind) const {
  for (const Rule& rule : std::views::reverse(rules_)) {
    if (rule.directory_only && kind != EntryKind::kDirectory) continue;
    if (guard::GlobMatch(rule.pattern, path)) return !rule.negated;
  }
  return false;
}

}  // namespace cordon::agent
