#include "policy/values.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/strings.h"
#include "guard/host_pattern.h"
#include "guard/path.h"
#include "policy/host_lists.h"

namespace cordon::policy {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Largest first, so that formatting takes the largest that divides.
constexpr Unit kSizeUnits[] = {
    {"TiB", 1ull << 40},
    {"TB", 1'000'000'000'000},
    {"GiB", 1ull << 30},
    {"GB", 1'000'000'000},
    {"MiB", 1ull << 20},
    {"MB", 1'000'000},
    {"KiB", 1ull << 10},
    {"kB", 1'000},
    {"B", 1},
};
constexpr Unit kDurationUnits[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr Unit kNoUnits[] = {{"", 1}};

constexpr std::string_view kSizeForm = "a size like \"2GiB\", \"50kB\" or a number of bytes, not 0";
constexpr std::string_view kDurationForm =
    "a duration like \"60s\", \"5m\", \"1h\", \"250ms\" or a number of seconds, not 0";

constexpr std::string_view kFeatures[] = {
    "fs",         "fs.read",       "fs.write",         "fs.floor",     "net",        "unix",
    "ipc",        "pid",           "seccomp",          "env",          "tty",        "limits",
    "limits.cpu", "limits.memory", "limits.processes", "limits.files", "limits.disk"};

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool IsNameByte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

Result<uint64_t> ParseAmount(std::string_view text, std::span<const Unit> units,
                             uint64_t plain_factor, std::string_view form) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == 0) return BadValue(form, text);
  std::string_view name = text.substr(static_cast<size_t>(end - text.data()));
  uint64_t factor = name.empty() ? plain_factor : 0;
  for (const Unit& unit : units) {
    if (!name.empty() && unit.name == name) factor = unit.factor;
  }
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (factor == 0 || number > kMost / factor) return BadValue(form, text);
  return number * factor;
}

std::string FormatAmount(uint64_t amount, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (amount % unit.factor == 0) {
      return std::to_string(amount / unit.factor) + std::string(unit.name);
    }
  }
  return std::to_string(amount);
}

// One path on its way from the user's text to a rule.
// Whether `path` is absolute and has nothing in it that would be expanded,
// escaped or normalised.
bool IsPlain(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/')) return false;
  char before = 0;
  for (char c : path) {
    bool special = IsControl(c) || c == '$' || c == '*' || c == '?' || c == '[' || c == '\\';
    if (special || (c == '/' && (before == '/' || before == '.'))) return false;
    before = c;
  }
  return before != '.';
}

// "?~/x" and "/x" in the plainest form, which nearly every line of the presets
// has. What PathParser would say, sooner.
std::optional<PathRule> ParsePlain(std::string_view text, const Context& context) {
  bool optional = text.starts_with('?');
  if (optional) text.remove_prefix(1);
  bool home = text.starts_with("~/");
  if (home) text.remove_prefix(1);
  if (!IsPlain(text) || (home && !IsPlain(context.home))) return std::nullopt;
  PathRule rule{.optional = optional};
  if (home) rule.path = context.home;
  rule.path += text;
  return rule;
}

class PathParser {
 public:
  PathParser(std::string_view text, PathUse use, const Context& context)
      : text_(text), rest_(text), use_(use), context_(context) {}

  Result<PathRule> Parse() {
    CORDON_TRY(CheckBytes());
    TakeOptional();
    CORDON_ASSIGN_OR_RETURN(std::string pattern, Expand());
    CORDON_TRY(CheckDots(pattern));
    if (!pattern.starts_with('/')) {
      CORDON_ASSIGN_OR_RETURN(pattern, Anchor(pattern));
    }
    return Finish(guard::NormalizePath(pattern));
  }

 private:
  bool TakesGlobs() const { return use_ == PathUse::kPattern || use_ == PathUse::kProgram; }

  Status CheckBytes() const {
    if (text_.empty() || text_ == "?") return BadValue("a path", text_);
    if (std::any_of(text_.begin(), text_.end(), IsControl)) {
      return BadValue("a path without control characters", text_);
    }
    return {};
  }

  // In a pattern "?x" is a glob; "?/x", "?~/x", "?$X" and "?./x" are not.
  void TakeOptional() {
    if (rest_.size() < 2 || rest_[0] != '?') return;
    bool marker = !TakesGlobs() ||
                  std::string_view("/~$").find(rest_[1]) != std::string_view::npos ||
                  rest_.substr(1).starts_with("./");
    if (!marker) return;
    optional_ = true;
    rest_.remove_prefix(1);
  }

  // The values of `~` and `$VAR` are taken as they are: their glob characters
  // are escaped, and they are not expanded again.
  Result<std::string> Expand() {
    std::string pattern;
    if (rest_.starts_with('~')) {
      if (rest_.size() > 1 && rest_[1] != '/') return BadValue("~ or ~/path (not ~user)", text_);
      if (context_.home.empty()) return BadValue("a path (the home directory is not known)", text_);
      pattern = guard::EscapeGlob(context_.home);
      rest_.remove_prefix(1);
    }
    while (true) {
      size_t dollar = std::min(rest_.find('$'), rest_.size());
      pattern += rest_.substr(0, dollar);
      rest_.remove_prefix(dollar);
      if (rest_.empty()) return pattern;
      CORDON_ASSIGN_OR_RETURN(std::string value, TakeVariable());
      pattern += guard::EscapeGlob(value);
    }
  }

  Result<std::string> TakeVariable() {
    rest_.remove_prefix(1);
    if (rest_.starts_with('$')) {
      rest_.remove_prefix(1);
      return std::string("$");
    }
    bool braces = rest_.starts_with('{');
    size_t start = braces ? 1 : 0;
    size_t end = start;
    while (end < rest_.size() && IsNameByte(rest_[end])) ++end;
    std::string name(rest_.substr(start, end - start));
    bool closed = !braces || rest_.substr(end).starts_with('}');
    if (!CheckEnvName(name) || !closed) return BadValue("$NAME, ${NAME} or $$", text_);
    rest_.remove_prefix(end + (braces ? 1 : 0));
    auto found = context_.env.find(name);
    if (found == context_.env.end() || found->second.empty()) {
      return BadValue("a path ($" + name + " is not set)", text_);
    }
    return found->second;
  }

  // "a*/../b" cannot be resolved by the text.
  Status CheckDots(std::string_view pattern) const {
    if (pattern.find("..") == std::string_view::npos || !guard::HasGlob(pattern)) return {};
    bool after_glob = false;
    for (const std::string& component : base::Split(pattern, '/')) {
      if (component == ".." && after_glob) return BadValue("no .. after a glob", text_);
      after_glob = after_glob || !guard::UnescapeGlob(component);
    }
    return {};
  }

  Result<std::string> Anchor(const std::string& pattern) const {
    if (use_ == PathUse::kProgram) return BadValue("an absolute path or glob", text_);
    std::string workspace = guard::EscapeGlob(context_.workspace);
    bool name_only = pattern.find('/') == std::string::npos && pattern != "." && pattern != "..";
    if (use_ == PathUse::kPattern && name_only) workspace = guard::JoinPath(workspace, "**");
    return guard::JoinPath(workspace, pattern);
  }

  // A rule holds all that is below what it matches, so "x/**" says no more
  // than "x"; but like any glob it may match nothing.
  Result<PathRule> Finish(std::string pattern) const {
    PathRule rule{.optional = optional_};
    while (TakesGlobs() && pattern.ends_with("/**")) {
      pattern = guard::Parent(pattern);
      rule.optional = true;
    }
    if (auto literal = guard::UnescapeGlob(pattern)) {
      rule.path = std::move(*literal);
    } else if (TakesGlobs()) {
      rule.path = std::move(pattern);
      rule.glob = true;
    } else {
      return BadValue("a path without globs", text_);
    }
    if (use_ == PathUse::kDevice && !guard::IsInside(rule.path, "/dev")) {
      return BadValue("a path below /dev", text_);
    }
    return rule;
  }

  std::string_view text_;
  std::string_view rest_;
  PathUse use_;
  const Context& context_;
  bool optional_ = false;
};

Status CheckHostFor(std::string_view text, guard::PatternUse use) {
  // What is in the lists is checked by their tests.
  if (text.starts_with('@')) {
    CORDON_TRY(CheckHostList(text));
  } else {
    CORDON_TRY(guard::ParseHostPattern(text, use));
  }
  return {};
}

}  // namespace

Error BadValue(std::string_view expected, std::string_view got) {
  std::string shown = base::Printable(base::Utf8Prefix(got, 80));
  if (got.size() > 80) shown += "…";
  return base::InvalidArgument(Reason::kPolicyBadValue,
                               "expected " + std::string(expected) + ", got \"" + shown + "\"");
}

Result<uint64_t> ParseSize(std::string_view text) {
  return ParseAmount(text, kSizeUnits, 1, kSizeForm);
}

Result<uint64_t> ParseDuration(std::string_view text) {
  return ParseAmount(text, kDurationUnits, 1000, kDurationForm);
}

Result<uint64_t> ParseCount(std::string_view text) {
  return ParseAmount(text, kNoUnits, 1, "a whole number from 1 up");
}

Result<int> ParsePort(std::string_view text) {
  Result<uint64_t> number = ParseCount(text);
  if (!number || *number > 65535) return BadValue("a port from 1 to 65535", text);
  return static_cast<int>(*number);
}

std::string FormatSize(uint64_t bytes) { return FormatAmount(bytes, kSizeUnits); }
std::string FormatDuration(uint64_t milliseconds) {
  return FormatAmount(milliseconds, kDurationUnits);
}

Result<PathRule> ParsePath(std::string_view text, PathUse use, const Context& context) {
  if (use == PathUse::kLiteral || use == PathUse::kPattern) {
    if (auto plain = ParsePlain(text, context)) return *std::move(plain);
  }
  return PathParser(text, use, context).Parse();
}

std::string FormatPath(const PathRule& rule) {
  std::string text = rule.optional ? "?" : "";
  for (char c : rule.glob ? rule.path : guard::EscapeGlob(rule.path)) {
    text += c;
    if (c == '$') text += c;
  }
  return text;
}

Status CheckHost(std::string_view text) { return CheckHostFor(text, guard::PatternUse::kAllow); }
Status CheckDeniedHost(std::string_view text) {
  return CheckHostFor(text, guard::PatternUse::kDeny);
}

Status CheckSingleHost(std::string_view text) {
  if (text.starts_with('@')) return BadValue("a host name or pattern, no list", text);
  return CheckHost(text);
}

Status CheckHeaderName(std::string_view text) {
  constexpr std::string_view kNotForSecrets[] = {
      "host",       "content-length",      "transfer-encoding",
      "connection", "proxy-connection",    "keep-alive",
      "te",         "proxy-authorization", "trailer",
      "upgrade"};
  auto is_token = [](char c) {
    return IsNameByte(c) || std::string_view("!#$%&'*+-.^`|~").find(c) != std::string_view::npos;
  };
  auto same = [&](std::string_view name) {
    return name.size() == text.size() && strncasecmp(name.data(), text.data(), text.size()) == 0;
  };
  bool good = !text.empty() && std::all_of(text.begin(), text.end(), is_token) &&
              std::none_of(std::begin(kNotForSecrets), std::end(kNotForSecrets), same);
  if (!good) return BadValue("the name of a header for a secret", text);
  return {};
}

Status CheckHeaderFormat(std::string_view text) {
  size_t hole = text.find("{}");
  bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!printable || hole == text.npos || text.find_first_of("{}", hole + 2) != text.npos) {
    return BadValue("a text with one {} for the secret", text);
  }
  return {};
}

Result<std::string> ParseSecretSource(std::string_view text, const Context& context) {
  constexpr std::string_view kEnv = "env:", kFile = "file:", kCommand = "command:";
  if (text.starts_with(kEnv)) {
    CORDON_TRY(CheckEnvName(text.substr(kEnv.size())));
    return std::string(text);
  }
  if (text.starts_with(kFile)) {
    CORDON_ASSIGN_OR_RETURN(PathRule rule,
                            ParsePath(text.substr(kFile.size()), PathUse::kLiteral, context));
    return std::string(kFile) + rule.path;
  }
  if (text.starts_with(kCommand) && CheckWord(text.substr(kCommand.size()))) {
    return std::string(text);
  }
  return BadValue("env:NAME, file:PATH or command:LINE", text);
}

Status CheckEnvName(std::string_view text) {
  bool good = !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
              std::all_of(text.begin(), text.end(), IsNameByte);
  if (!good) return BadValue("the name of an environment variable", text);
  return {};
}

Status CheckFeature(std::string_view text) {
  if (std::find(std::begin(kFeatures), std::end(kFeatures), text) != std::end(kFeatures)) return {};
  std::vector<std::string> names(std::begin(kFeatures), std::end(kFeatures));
  Error error = BadValue("one of " + base::Join(names, " "), text);
  if (auto near = base::Nearest(text, names)) error.hint = "did you mean \"" + *near + "\"?";
  return error;
}

Status CheckWord(std::string_view text) {
  if (text.empty() || std::any_of(text.begin(), text.end(), IsControl)) {
    return BadValue("a word", text);
  }
  return {};
}

Status CheckProxyUrl(std::string_view text) {
  bool spaced =
      std::any_of(text.begin(), text.end(), [](char c) { return IsControl(c) || c == ' '; });
  for (std::string_view scheme : {"http://", "https://", "socks5://"}) {
    if (text.starts_with(scheme) && text.size() > scheme.size() && !spaced) return {};
  }
  return BadValue("a proxy like \"http://proxy.corp:3128\"", text);
}

}  // namespace cordon::policy
