// Layers and candidates. What becomes of a candidate is in verify.cc.
#include "guard/secrets/engine.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "guard/secrets/default_rules.h"
#include "guard/secrets/vectorscan.h"

namespace cordon::guard {
namespace {

constexpr int kMaxDepth = 3;
constexpr size_t kBefore = 256;  // of a keyword: how far off a match may start
constexpr size_t kAfter = 1024;
constexpr size_t kUnpacked = 1 << 20;

char Fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

uint32_t Pair(char first, char second) {
  return static_cast<uint32_t>(static_cast<uint8_t>(Fold(first))) << 8 |
         static_cast<uint8_t>(Fold(second));
}

bool StartsFolded(std::string_view text, size_t at, std::string_view folded) {
  if (text.size() - at < folded.size()) return false;
  for (size_t i = 0; i < folded.size(); ++i) {
    if (Fold(text[at + i]) != folded[i]) return false;
  }
  return true;
}

// Of overlapping hits the one of the better rank stays, and covers both.
std::vector<SecretHit> WithoutOverlaps(std::vector<SecretHit> hits) {
  std::sort(hits.begin(), hits.end(), [](const SecretHit& a, const SecretHit& b) {
    return std::tuple(a.begin, a.rank, a.encoding.size()) <
           std::tuple(b.begin, b.rank, b.encoding.size());
  });
  std::vector<SecretHit> kept;
  for (SecretHit& hit : hits) {
    if (kept.empty() || kept.back().end <= hit.begin) {
      kept.push_back(std::move(hit));
      continue;
    }
    SecretHit& last = kept.back();
    size_t begin = last.begin;
    size_t end = std::max(last.end, hit.end);
    if (hit.rank < last.rank) last = std::move(hit);
    last.begin = begin;
    last.end = end;
  }
  return kept;
}

}  // namespace

void SecretEngine::ScratchDeleter::operator()(hs_scratch* scratch) const {
  hs_free_scratch(scratch);
}

SecretEngine::SecretEngine(const SecretRuleData& rules, const SecretScanOptions& options)
    : rules_(rules), options_(options), windows_(rules.rules.size()) {
  hs_scratch_t* scratch = nullptr;
  if (rules_.database != nullptr &&
      hs_alloc_scratch(rules_.database.get(), &scratch) == HS_SUCCESS) {
    scratch_.reset(scratch);
  }
}

SecretEngine::~SecretEngine() = default;

std::vector<SecretHit> SecretEngine::Scan(std::string_view block) {
  hits_.clear();
  budget_ = block.size() * 2 + (64 << 10);
  ScanLayer({.text = block});
  return WithoutOverlaps(std::move(hits_));
}

void SecretEngine::ScanLayer(const Layer& layer) {
  FindByOurKeywords(layer);
  FindByFileKeywords(layer);
  FindKnown(layer);
  FindInRuns(layer);
  if (layer.depth == kMaxDepth) return;
  auto sink = [&](Decoded& decoded) { ScanDecoded(layer, decoded); };
  DecodeEscapes(layer.text, sink);
  DecodeSpacedHex(layer.text, sink);
  DecodeHexArray(layer.text, sink);
  DecodeWide(layer.text, sink);
  DecodeGzip(layer.text, std::min(budget_, kUnpacked), sink);
}

void SecretEngine::ScanDecoded(const Layer& outer, Decoded& decoded) {
  if (decoded.text.size() > budget_) return;
  budget_ -= decoded.text.size();
  ScanLayer({.text = decoded.text, .outer = &outer, .decoded = &decoded, .depth = outer.depth + 1});
}

void SecretEngine::FindByOurKeywords(const Layer& layer) {
  if (scratch_ == nullptr) return;
  keyword_hits_.clear();
  auto on_match = [](unsigned id, unsigned long long, unsigned long long to, unsigned,
                     void* context) {
    static_cast<std::vector<KeywordHit>*>(context)->push_back({id, static_cast<uint32_t>(to)});
    return 0;
  };
  ChosenVectorscan().scan(rules_.database.get(), layer.text.data(),
                          static_cast<unsigned>(layer.text.size()), 0, scratch_.get(), on_match,
                          &keyword_hits_);
  std::span<const DefaultKeyword> keywords = DefaultKeywords();
  std::span<const uint16_t> keyword_rules = DefaultKeywordRules();
  for (const KeywordHit& hit : keyword_hits_) {
    const DefaultKeyword& keyword = keywords[hit.keyword];
    for (uint16_t rule : keyword_rules.subspan(keyword.rules.first, keyword.rules.count)) {
      Candidate(layer, rule, hit.end - keyword.length, hit.end);
    }
  }
  CloseWindows(layer);
}

void SecretEngine::FindByFileKeywords(const Layer& layer) {
  for (uint32_t rule : rules_.everywhere) {
    if (PathFits(rules_.rules[rule])) Search(layer, rules_.rules[rule], 0, layer.text.size());
  }
  if (rules_.keywords.empty()) return;
  std::string_view text = layer.text;
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    uint32_t pair = Pair(text[at], text[at + 1]);
    if ((rules_.keyword_pairs[pair >> 6] >> (pair & 63) & 1) == 0) continue;
    auto [from, to] = rules_.keywords_by_pair.equal_range(pair);
    for (auto it = from; it != to; ++it) {
      const FileKeyword& keyword = rules_.keywords[it->second];
      if (!StartsFolded(text, at, keyword.folded)) continue;
      for (uint32_t rule : keyword.rules) {
        Candidate(layer, rule, at, at + keyword.folded.size());
      }
    }
  }
  CloseWindows(layer);
}

void SecretEngine::FindKnown(const Layer& layer) {
  rules_.known.Find(layer.text, [&](const KnownSecrets::Hit& found) {
    SecretHit hit{.rule = "known:" + std::string(found.name),
                  .description = "A secret known by its value",
                  .encoding = std::string(found.encoding),
                  .preview = "…"};
    AddHit(layer, found.begin, found.end, std::move(hit));
  });
}

void SecretEngine::FindInRuns(const Layer& layer) {
  DecodedSink sink = [&](Decoded& decoded) { ScanDecoded(layer, decoded); };
  RunFinder finder(layer.text);
  for (Run run; finder.Next(run);) {
    TryRunRules(layer, run);
    if (layer.depth < kMaxDepth) DecodeRun(layer.text, run, sink);
  }
}

void SecretEngine::TryRunRules(const Layer& layer, const Run& run) {
  for (size_t at = run.begin; at < run.line_end; ++at) {
    for (uint32_t number : rules_.run_rules) TryRunRule(layer, number, at);
    // What was decoded may stand behind letters that were not meant to be a part of it.
    if (layer.depth > 0) continue;
    size_t slash = layer.text.substr(at, run.line_end - at).find('/');
    at = slash == std::string_view::npos ? run.line_end : at + slash;
  }
}

void SecretEngine::TryRunRule(const Layer& layer, uint32_t number, size_t at) {
  const SecretRule& rule = rules_.rules[number];
  for (Piece piece : rule.prefixes) {
    std::string_view prefix = DefaultText(piece);
    if (layer.text[at] != prefix[0] || rules_.enabled[number] == 0) continue;
    if (layer.text.compare(at, prefix.size(), prefix) == 0) MatchAt(layer, rule, at);
  }
}

void SecretEngine::Candidate(const Layer& layer, uint32_t rule, size_t begin, size_t end) {
  if (rules_.enabled[rule] == 0 || !PathFits(rules_.rules[rule])) return;
  switch (rules_.rules[rule].kind) {
    case RuleSpec::Kind::kAssigned:
      return TryAssigned(layer, rule, begin, end);
    case RuleSpec::Kind::kAt:
      return TryAt(layer, rule, begin);
    case RuleSpec::Kind::kAfter:
      return TryAt(layer, rule, end);
    case RuleSpec::Kind::kPattern:
    case RuleSpec::Kind::kRun:
      return OpenWindow(layer, rule, begin, end);
  }
}

void SecretEngine::TryAt(const Layer& layer, uint32_t rule, size_t at) {
  Window& seen = windows_[rule];
  if (at < seen.end) return;
  size_t end = MatchAt(layer, rules_.rules[rule], at);
  if (end == 0) return;
  if (seen.end == 0) open_.push_back(rule);
  seen.end = end;
}

// Windows that touch are one, so that no text is searched twice for the same rule.
void SecretEngine::OpenWindow(const Layer& layer, uint32_t rule, size_t begin, size_t end) {
  Window wanted{begin - std::min(begin, kBefore), std::min(layer.text.size(), end + kAfter)};
  if (rules_.rules[rule].whole_text) wanted = {0, layer.text.size()};
  Window& window = windows_[rule];
  if (window.end == 0) {
    open_.push_back(rule);
    window = wanted;
  } else if (wanted.begin <= window.end) {
    window.end = std::max(window.end, wanted.end);
  } else {
    Search(layer, rules_.rules[rule], window.begin, window.end);
    window = wanted;
  }
}

void SecretEngine::CloseWindows(const Layer& layer) {
  for (uint32_t rule : open_) {
    Window window = std::exchange(windows_[rule], {});
    if (rules_.rules[rule].kind == RuleSpec::Kind::kPattern) {
      Search(layer, rules_.rules[rule], window.begin, window.end);
    }
  }
  open_.clear();
}

void SecretEngine::AddHit(const Layer& layer, size_t begin, size_t end, SecretHit hit) {
  for (const Layer* at = &layer; at->outer != nullptr; at = at->outer) {
    const std::vector<SourceSpan>& spans = at->decoded->spans;
    begin = spans[begin].begin;
    end = spans[end - 1].end;
    hit.encoding =
        std::string(at->decoded->encoding) + (hit.encoding.empty() ? "" : "+") + hit.encoding;
  }
  hit.begin = begin;
  hit.end = end;
  hits_.push_back(std::move(hit));
}

}  // namespace cordon::guard
