// Finds the secrets of one block of text. scanner.h cuts what it is given into blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/secrets/decode.h"
#include "guard/secrets/rule.h"

struct hs_scratch;

namespace cordon::guard {

struct SecretHit {
  size_t begin = 0;
  size_t end = 0;
  int rank = 0;  // the lower goes first where two hits overlap
  std::string rule;
  std::string_view description;
  std::string encoding;
  std::string preview;
  uint32_t fingerprint = 0;
};

class SecretEngine {
 public:
  SecretEngine(const SecretRuleData& rules, const SecretScanOptions& options);
  ~SecretEngine();

  // In the order of their places; none overlaps another.
  std::vector<SecretHit> Scan(std::string_view block);

 private:
  // The block, or what a part of the layer outside decodes to.
  struct Layer {
    std::string_view text;
    const Layer* outer = nullptr;
    const Decoded* decoded = nullptr;
    int depth = 0;
    bool wrapped = false;  // lines were joined to get it
  };
  struct KeywordHit {
    uint32_t keyword;
    uint32_t end;
  };
  struct Window {
    size_t begin = 0;
    size_t end = 0;
  };

  void ScanLayer(const Layer& layer);
  void ScanDecoded(const Layer& outer, Decoded& decoded);
  void FindByOurKeywords(const Layer& layer);
  void FindByFileKeywords(const Layer& layer);
  void FindKnown(const Layer& layer);
  void FindInRuns(const Layer& layer);
  void TryRunRules(const Layer& layer, const Run& run);
  void TryRunRule(const Layer& layer, uint32_t number, size_t at);
  void Candidate(const Layer& layer, uint32_t rule, size_t begin, size_t end);
  void OpenWindow(const Layer& layer, uint32_t rule, size_t begin, size_t end);
  void CloseWindows(const Layer& layer);
  void Search(const Layer& layer, const SecretRule& rule, size_t begin, size_t end);
  // Returns the end of the match, or 0.
  size_t MatchAt(const Layer& layer, const SecretRule& rule, size_t at);
  size_t TryWrapped(const Layer& layer, const SecretRule& rule, size_t at);
  void TryAt(const Layer& layer, uint32_t rule, size_t at);
  void TryAssigned(const Layer& layer, uint32_t rule, size_t begin, size_t end);
  bool Judge(const Layer& layer, const SecretRule& rule, std::string_view match,
             std::string_view secret) const;
  bool IsAllowed(const AllowRule& allow, const Layer& layer, const SecretRule& rule,
                 std::string_view match, std::string_view secret) const;
  void Report(const Layer& layer, const SecretRule& rule, std::string_view secret);
  void AddHit(const Layer& layer, size_t begin, size_t end, SecretHit hit);
  bool PathFits(const SecretRule& rule) const;

  const SecretRuleData& rules_;
  const SecretScanOptions& options_;
  struct ScratchDeleter {
    void operator()(hs_scratch* scratch) const;
  };
  std::unique_ptr<hs_scratch, ScratchDeleter> scratch_;
  std::vector<KeywordHit> keyword_hits_;
  // By rule; empty ones are closed. Of rules that are not searched for: up to where the last
  // match goes, so that no text is matched again from each keyword in it.
  std::vector<Window> windows_;
  std::vector<uint32_t> open_;
  std::vector<SecretHit> hits_;
  size_t budget_ = 0;  // bytes that may still be decoded from this block
};

}  // namespace cordon::guard
