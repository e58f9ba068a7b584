#include "proxy/http_rules.h"

#include <algorithm>
#include <string>

namespace cordon::proxy {
namespace {

bool SpeaksOf(const HttpRule& rule, const guard::Host& host) {
  auto pattern = guard::ParseHostPattern(rule.host);
  // A host that cannot be read stands for all of them: its rule then only denies.
  return !pattern || guard::MatchesName(*pattern, host);
}

// A path has one reading only.
bool IsPlain(std::string_view path) {
  if (!path.starts_with('/') || path.find('\\') != path.npos) return false;
  std::string lower(path);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return false;
  }
  for (std::string_view trick :
       {"%2f", "%5c", "%2e", "%00", "%25", "%c0", "%c1", "%u", "//", ";"}) {
    if (lower.find(trick) != lower.npos) return false;
  }
  lower += '/';
  return lower.find("/./") == lower.npos && lower.find("/../") == lower.npos;
}

// Walks all the ways to match at once: no glob, however odd, takes longer than
// the product of the two lengths.
class PathGlob {
 public:
  explicit PathGlob(std::string_view glob) {
    for (size_t i = 0; i < glob.size(); ++i) {
      bool both = glob.substr(i, 2) == "**";
      steps_.push_back(both ? Step{kAny} : glob[i] == '*' ? Step{kSegment} : Step{kByte, glob[i]});
      if (both) ++i;
    }
  }

  bool Matches(std::string_view path) const {
    std::vector<bool> at(steps_.size() + 1, false);
    at[0] = true;
    SkipStars(at);
    for (char c : path) at = After(at, c);
    return at.back();
  }

 private:
  enum Kind { kByte, kSegment, kAny };
  struct Step {
    Kind kind;
    char byte = 0;
  };

  void SkipStars(std::vector<bool>& at) const {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (at[i] && steps_[i].kind != kByte) at[i + 1] = true;
    }
  }

  std::vector<bool> After(const std::vector<bool>& at, char c) const {
    std::vector<bool> next(at.size(), false);
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!at[i]) continue;
      if (steps_[i].kind == kByte && steps_[i].byte == c) next[i + 1] = true;
      if (steps_[i].kind == kAny || (steps_[i].kind == kSegment && c != '/')) next[i] = true;
    }
    SkipStars(next);
    return next;
  }

  std::vector<Step> steps_;
};

bool Allows(const HttpRule& rule, std::string_view method, std::string_view path) {
  if (!rule.methods.empty() && std::ranges::find(rule.methods, method) == rule.methods.end()) {
    return false;
  }
  return rule.paths.empty() || (IsPlain(path) && std::ranges::any_of(rule.paths, [&](auto& glob) {
                                  return PathGlob(glob).Matches(path);
                                }));
}

}  // namespace

bool HasHttpRules(const std::vector<HttpRule>& rules, const guard::Host& host) {
  return std::ranges::any_of(rules, [&](const HttpRule& rule) { return SpeaksOf(rule, host); });
}

guard::NetDecision DecideRequest(const std::vector<HttpRule>& rules, const guard::Host& host,
                                 std::string_view method, std::string_view origin_form) {
  if (!HasHttpRules(rules, host)) return {.allowed = true};
  std::string_view path = origin_form.substr(0, origin_form.find('?'));
  for (const HttpRule& rule : rules) {
    auto pattern = guard::ParseHostPattern(rule.host);
    if (pattern && guard::MatchesName(*pattern, host) && Allows(rule, method, path)) {
      return {.allowed = true, .rule = "net.rule " + rule.host};
    }
  }
  return {.reason = Reason::kHostDenied,
          .rule = "no net.rule of " + host.name + " allows " + std::string(method) + " " +
                  std::string(path),
          .hint = "add the method and path to a [[net.rule]] of that host"};
}

}  // namespace cordon::proxy
