#include "plan/git_config.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace cordon::plan {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// A backslash at the end continues a line.
std::string Joined(std::string_view text) {
  std::string joined;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
    } else {
      joined += text[i];
    }
  }
  return joined;
}

std::string Unquoted(std::string_view value) {
  std::string plain;
  bool quoted = false;
  for (size_t i = 0; i < value.size(); ++i) {
    char c = value[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '\\' && i + 1 < value.size()) {
      plain += value[++i];
    } else if (!quoted && (c == '#' || c == ';')) {
      break;
    } else {
      plain += c;
    }
  }
  return std::string(Trim(plain));
}

}  // namespace

std::vector<std::string> GitConfigValues(std::string_view text, std::string_view section,
                                         std::string_view key) {
  std::vector<std::string> values;
  std::string current;
  for (const std::string& raw : base::Split(Joined(text), '\n')) {
    std::string_view line = Trim(raw);
    if (line.starts_with('[')) {
      current = Lower(line.substr(1, line.find_first_of("] \t\"", 1) - 1));
      // A key may follow on the line of its section.
      size_t end = line.rfind(']');
      line = end == std::string_view::npos ? "" : Trim(line.substr(end + 1));
    }
    size_t equals = line.find('=');
    if (current != section || equals == std::string_view::npos) continue;
    if (Lower(Trim(line.substr(0, equals))) == key) {
      values.push_back(Unquoted(Trim(line.substr(equals + 1))));
    }
  }
  return values;
}

}  // namespace cordon::plan
