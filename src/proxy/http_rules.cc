#include "proxy/http_rules.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/strings.h"

namespace cordon::proxy {
namespace {

bool SpeaksOf(const HttpRule& rule, const guard::Host& host) {
  auto pattern = guard::ParseHostPattern(rule.host);
  // A host that cannot be read stands for all of them: its rule then only denies.
  return !pattern || guard::MatchesName(*pattern, host);
}

bool AllowsPort(const guard::HostPattern& pattern, int port) {
  return !pattern.port || *pattern.port == port;
}

// What "%" and two digits stand for; nothing if they are no digits.
std::optional<unsigned char> Decoded(std::string_view digits) {
  unsigned char value = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, failed] = std::from_chars(digits.data(), end, value, 16);
  if (failed != std::errc() || stop != end || digits.size() != 2) return std::nullopt;
  return value;
}

// Bytes that mean themselves in a path (RFC 3986, less the ";" that some servers
// cut at), and those that may stand there in percent form: what a server would
// read as structure, were it to decode the path before it looks at it, may not.
bool MeansItself(char c) {
  bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return alphanumeric || std::string_view("/-._~!$&'()*+,=:@").find(c) != std::string_view::npos;
}

bool MayBeEncoded(unsigned char c) {
  return c >= 0x20 && c < 0x7f &&
         std::string_view("%/\\.;?#").find(static_cast<char>(c)) == std::string_view::npos;
}

// The path with its percent forms decoded, if it has one reading only.
std::optional<std::string> Plain(std::string_view path) {
  std::string plain;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%') {
      auto byte = Decoded(path.substr(i + 1, 2));
      if (!byte || !MayBeEncoded(*byte)) return std::nullopt;
      plain += static_cast<char>(*byte);
      i += 2;
    } else if (MeansItself(path[i])) {
      plain += path[i];
    } else {
      return std::nullopt;
    }
  }
  return plain;
}

// No step of it leads upwards or nowhere. Some servers trim blanks and dots.
bool StepsAreNames(const std::string& path) {
  if (!path.starts_with('/') || path.find("//") != path.npos) return false;
  std::vector<std::string> steps = base::Split(path.substr(1), '/');
  return std::ranges::none_of(steps, [](const std::string& step) {
    return !step.empty() && step.find_first_not_of(". ") == step.npos;
  });
}

bool IsPlain(std::string_view path) {
  std::optional<std::string> plain = Plain(path);
  return plain && StepsAreNames(*plain);
}

// Servers and frameworks take these for the method or the path of the request.
bool ChangesRequest(const HeaderField& field) {
  constexpr std::string_view kNames[] = {
      "x-http-method-override", "x-http-method",    "x-method-override",  "x-original-method",
      "x-original-url",         "x-original-uri",   "x-rewrite-url",      "x-rewrite-uri",
      "x-forwarded-uri",        "x-forwarded-path", "x-forwarded-prefix", "x-forwarded-method"};
  // Some servers take "_" for "-".
  std::string name = field.name;
  std::ranges::replace(name, '_', '-');
  return std::ranges::any_of(kNames, [&](auto known) { return SameFieldName(name, known); });
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
  if (rule.paths.empty() || std::ranges::find(rule.paths, "/**") != rule.paths.end()) return true;
  return IsPlain(path) &&
         std::ranges::any_of(rule.paths, [&](auto& glob) { return PathGlob(glob).Matches(path); });
}

}  // namespace

bool HasHttpRules(const std::vector<HttpRule>& rules, const guard::Host& host) {
  return std::ranges::any_of(rules, [&](const HttpRule& rule) { return SpeaksOf(rule, host); });
}

guard::NetDecision DecideRequest(const std::vector<HttpRule>& rules, const guard::HostPort& target,
                                 const RequestHead& head, std::string_view origin_form) {
  const guard::Host& host = target.host;
  if (!HasHttpRules(rules, host)) return {.allowed = true};
  auto change = std::ranges::find_if(head.fields, ChangesRequest);
  if (change != head.fields.end()) {
    return {.reason = Reason::kHostDenied,
            .rule = "the [[net.rule]] of " + host.name + ": " + change->name +
                    " would make it another request",
            .hint = "send the request without that header"};
  }
  std::string_view path = origin_form.substr(0, origin_form.find('?'));
  for (const HttpRule& rule : rules) {
    auto pattern = guard::ParseHostPattern(rule.host);
    bool speaks =
        pattern && guard::MatchesName(*pattern, host) && AllowsPort(*pattern, target.port);
    if (speaks && Allows(rule, head.method, path)) {
      return {.allowed = true, .rule = "net.rule " + rule.host};
    }
  }
  return {.reason = Reason::kHostDenied,
          .rule = "no net.rule of " + guard::ToString(target) + " allows " + head.method + " " +
                  std::string(path),
          .hint = "add the method and path to a [[net.rule]] of that host"};
}

}  // namespace cordon::proxy
