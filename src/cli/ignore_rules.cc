#include "cli/ignore_rules.h"

#include <fnmatch.h>

#include <span>

#include "base/strings.h"

namespace cordon::cli {
namespace {

using Parts = std::span<const std::string>;

bool Matches(Parts pattern, Parts path) {
  if (pattern.empty()) return path.empty();
  if (pattern[0] == "**") {
    // At the end it stands for what is inside, not for the folder itself.
    if (pattern.size() == 1) return !path.empty();
    for (size_t skipped = 0; skipped <= path.size(); ++skipped) {
      if (Matches(pattern.subspan(1), path.subspan(skipped))) return true;
    }
    return false;
  }
  return !path.empty() && fnmatch(pattern[0].c_str(), path[0].c_str(), 0) == 0 &&
         Matches(pattern.subspan(1), path.subspan(1));
}

std::string_view Trimmed(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

}  // namespace

IgnoreRules::IgnoreRules(std::string_view text) {
  for (const std::string& raw : base::Split(text, '\n')) {
    std::string_view line = Trimmed(raw);
    if (line.empty() || line.starts_with('#')) continue;
    Pattern pattern;
    if (line.starts_with('!')) {
      pattern.answer = Answer::kKept;
      line.remove_prefix(1);
    }
    if (line.ends_with('/')) {
      pattern.folders_only = true;
      line.remove_suffix(1);
    }
    bool anywhere = line.find('/') == std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    if (anywhere) pattern.parts.emplace_back("**");
    for (std::string& part : base::Split(line, '/')) pattern.parts.push_back(std::move(part));
    patterns_.push_back(std::move(pattern));
  }
}

IgnoreRules::Answer IgnoreRules::Ask(std::string_view path, Kind kind) const {
  std::vector<std::string> parts = base::Split(path, '/');
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->folders_only && kind == Kind::kFile) continue;
    if (Matches(pattern->parts, parts)) return pattern->answer;
  }
  return Answer::kNothing;
}

}  // namespace cordon::cli
