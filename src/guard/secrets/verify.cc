// What becomes of a candidate: match, judge, report.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "guard/secrets/assignment.h"
#include "guard/secrets/engine.h"
#include "guard/secrets/shape.h"

namespace cordon::guard {
namespace {

constexpr int kMaxGroups = 10;
constexpr size_t kLongestMatch = 256 << 10;
constexpr size_t kLongestLine = 4096;

using Groups = std::array<re2::StringPiece, kMaxGroups>;

std::string_view View(re2::StringPiece piece) { return {piece.data(), piece.size()}; }

bool Match(const re2::RE2& regex, std::string_view text, size_t begin, size_t end,
           re2::RE2::Anchor anchor, Groups& groups) {
  int count = std::min(regex.NumberOfCapturingGroups() + 1, kMaxGroups);
  groups.fill({});
  return regex.Match({text.data(), text.size()}, begin, end, anchor, groups.data(), count);
}

std::string_view Secret(const SecretRule& rule, const Groups& groups) {
  auto wanted = static_cast<size_t>(rule.secret_group);
  if (wanted > 0 && wanted < groups.size() && !groups[wanted].empty()) return View(groups[wanted]);
  for (size_t i = 1; i < groups.size(); ++i) {
    if (!groups[i].empty()) return View(groups[i]);
  }
  return View(groups[0]);
}

std::string_view LineOf(std::string_view text, std::string_view part) {
  auto at = static_cast<size_t>(part.data() - text.data());
  size_t begin = at;
  while (begin > 0 && at - begin < kLongestLine && text[begin - 1] != '\n') --begin;
  size_t end = at + part.size();
  while (end < text.size() && end - at < kLongestLine && text[end] != '\n') ++end;
  return text.substr(begin, end - begin);
}

bool HoldsStopword(std::string_view secret, const std::vector<std::string>& words) {
  std::string lower(secret);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return lower.find(word) != std::string::npos;
  });
}

bool AnyMatches(const std::deque<LazyRegex>& regexes, std::string_view text) {
  return std::any_of(regexes.begin(), regexes.end(),
                     [&](const LazyRegex& regex) { return regex.Matches(text); });
}

uint32_t Fingerprint(std::string_view rule, std::string_view secret) {
  uint64_t hash = 14695981039346656037U;
  for (std::string_view text : {rule, secret}) {
    for (unsigned char c : text) hash = (hash ^ c) * 1099511628211U;
  }
  return static_cast<uint32_t>(hash >> 44);
}

// What the rule's keyword says of the secret, and its length.
std::string Preview(const SecretRule& rule, std::string_view secret) {
  std::string_view shown;
  if (rule.kind == RuleSpec::Kind::kAt && rule.source == SecretRule::Source::kOurs) {
    for (Piece piece : rule.prefixes) {
      std::string_view prefix = DefaultText(piece);
      if (secret.starts_with(prefix) && prefix.size() > shown.size()) shown = prefix;
    }
  }
  return std::string(shown) + "…[" + std::to_string(secret.size()) + "]";
}

bool IsLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// A few letters that start a token turn up in any long stretch of base64. A token stands
// behind something else than a letter.
bool IsInsideBlob(std::string_view text, size_t at) {
  return at > 0 && at < text.size() && IsLetterOrDigit(text[at]) &&
         (IsLetterOrDigit(text[at - 1]) || text[at - 1] == '+');
}

int Rank(const SecretRule& rule) {
  if (rule.IsGeneric()) return 4;
  if (rule.kind == RuleSpec::Kind::kAssigned) return 3;
  return rule.source == SecretRule::Source::kOurs ? 1 : 2;
}

}  // namespace

bool SecretEngine::PathFits(const SecretRule& rule) const {
  return rule.path.empty() || rule.path.Matches(options_.path);
}

void SecretEngine::Search(const Layer& layer, const SecretRule& rule, size_t begin, size_t end) {
  Groups groups;
  while (begin < end &&
         Match(rule.regex.get(), layer.text, begin, end, re2::RE2::UNANCHORED, groups)) {
    auto at = static_cast<size_t>(groups[0].data() - layer.text.data());
    size_t stop = at + groups[0].size();
    // It may go on behind the window.
    if (stop == end && end < layer.text.size() && end - at < kLongestMatch) {
      end = std::min(layer.text.size(), end + std::max<size_t>(4096, end - at));
      begin = at;
      continue;
    }
    std::string_view secret = Secret(rule, groups);
    if (!secret.empty() && Judge(layer, rule, View(groups[0]), secret)) Report(layer, rule, secret);
    begin = std::max(stop, at + 1);
  }
}

size_t SecretEngine::MatchAt(const Layer& layer, const SecretRule& rule, size_t at) {
  if (layer.depth == 0 && IsInsideBlob(layer.text, at)) return 0;
  Groups groups;
  size_t limit = std::min(layer.text.size(), at + kLongestMatch);
  if (!Match(rule.regex.get(), layer.text, at, limit, re2::RE2::ANCHOR_START, groups)) {
    return TryWrapped(layer, rule, at);
  }
  size_t end = at + groups[0].size();
  if (layer.depth == 0 && end < layer.text.size() && layer.text[end] == '+') return end;
  std::string_view secret = Secret(rule, groups);
  if (!secret.empty() && Judge(layer, rule, View(groups[0]), secret)) Report(layer, rule, secret);
  return end;
}

// A token that was broken at the end of a line, as mail and terminals do.
size_t SecretEngine::TryWrapped(const Layer& layer, const SecretRule& rule, size_t at) {
  if (layer.wrapped) return 0;
  Decoded joined = JoinLines(layer.text, at);
  if (joined.text.empty()) return 0;
  Layer inner{.text = joined.text,
              .outer = &layer,
              .decoded = &joined,
              .depth = layer.depth + 1,
              .wrapped = true};
  size_t end = MatchAt(inner, rule, 0);
  return end == 0 ? 0 : joined.spans[end - 1].end;
}

void SecretEngine::TryAssigned(const Layer& layer, uint32_t number, size_t begin, size_t end) {
  // The same value is found by each keyword in front of it.
  Window& seen = windows_[number];
  std::optional<Assignment> found = ParseAssignment(layer.text, begin, end);
  if (!found || found->value_end == found->value || found->value < seen.end) return;
  const SecretRule& rule = rules_.rules[number];
  if (rule.IsGeneric() && (found->loose || IsHarmlessName(found->name))) return;
  Groups groups;
  if (!Match(rule.regex.get(), layer.text, found->value, found->value_end, re2::RE2::ANCHOR_BOTH,
             groups)) {
    return;
  }
  if (seen.end == 0) open_.push_back(number);
  seen.end = found->value_end;
  std::string_view secret = Secret(rule, groups);
  if (Judge(layer, rule, View(groups[0]), secret)) Report(layer, rule, secret);
}

bool SecretEngine::Judge(const Layer& layer, const SecretRule& rule, std::string_view match,
                         std::string_view secret) const {
  if (rule.entropy > 0 && Entropy(secret) <= rule.entropy) return false;
  if (rule.source == SecretRule::Source::kOurs && LooksLikePlaceholder(secret)) return false;
  // The name of a service, and a length that fits, say much already.
  if (rule.random && !LooksRandom(secret, rule.IsGeneric() ? 0.5 : 0.7)) return false;
  if (!rule.but_not.empty() && rule.but_not.Matches(secret)) return false;
  if (options_.inline_allow == SecretScanOptions::InlineAllow::kHonour) {
    std::string_view line = LineOf(layer.text, match);
    if (line.contains("cordon:allow") || line.contains("gitleaks:allow")) return false;
  }
  auto allowed = [&](const AllowRule& allow) {
    return IsAllowed(allow, layer, rule, match, secret);
  };
  return std::none_of(rule.allow.begin(), rule.allow.end(), allowed) &&
         std::none_of(rules_.allow.begin(), rules_.allow.end(), allowed);
}

bool SecretEngine::IsAllowed(const AllowRule& allow, const Layer& layer, const SecretRule& rule,
                             std::string_view match, std::string_view secret) const {
  const AllowSpec& spec = allow.spec;
  if (!spec.rules.empty() &&
      std::find(spec.rules.begin(), spec.rules.end(), rule.id) == spec.rules.end()) {
    return false;
  }
  std::string_view target = spec.target == AllowSpec::Target::kSecret  ? secret
                            : spec.target == AllowSpec::Target::kMatch ? match
                                                                       : LineOf(layer.text, match);
  bool all = spec.condition == AllowSpec::Condition::kAll;
  auto holds = [&](bool asked, auto&& test) { return asked ? test() : all; };
  bool regex = holds(!allow.regexes.empty(), [&] { return AnyMatches(allow.regexes, target); });
  bool path = holds(!allow.paths.empty(), [&] { return AnyMatches(allow.paths, options_.path); });
  bool word = holds(!spec.stopwords.empty(), [&] { return HoldsStopword(secret, spec.stopwords); });
  return all ? regex && path && word : regex || path || word;
}

void SecretEngine::Report(const Layer& layer, const SecretRule& rule, std::string_view secret) {
  SecretHit hit{.rank = Rank(rule),
                .rule = std::string(rule.id),
                .description = rule.description,
                .preview = Preview(rule, secret),
                .fingerprint = Fingerprint(rule.id, secret)};
  auto begin = static_cast<size_t>(secret.data() - layer.text.data());
  AddHit(layer, begin, begin + secret.size(), std::move(hit));
}

}  // namespace cordon::guard
