#include "guard/secrets/scanner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "guard/secrets/engine.h"

namespace cordon::guard {
namespace {

constexpr size_t kBlock = 256 << 10;
constexpr size_t kTail = 16 << 10;    // a secret is no longer, or it is seen to go on
constexpr size_t kContext = 1 << 10;  // kept for what stands before a secret
constexpr size_t kLongest = 256 << 10;
constexpr size_t kWrapAt = 40;

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Eight bytes at a time: all of every input goes through here.
uint64_t CountLines(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kLow = 0x7f * kOnes;
  uint64_t lines = 0;
  for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
    uint64_t bytes;
    std::memcpy(&bytes, text.data(), sizeof(bytes));
    bytes ^= '\n' * kOnes;                              // zero where there was a line's end
    uint64_t others = ((bytes & kLow) + kLow) | bytes;  // top bit set in all the rest
    lines += ((~others & ~kLow) >> 7) * kOnes >> 56;
  }
  return lines + static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// Counts lines as the input goes by.
class Lines {
 public:
  void Skip(std::string_view text) {
    line_ += CountLines(text);
    size_t last = text.rfind('\n');
    column_ = last == std::string_view::npos ? column_ + text.size() : text.size() - last;
  }
  uint64_t line() const { return line_; }
  uint64_t column() const { return column_; }

 private:
  uint64_t line_ = 1;
  uint64_t column_ = 1;
};

// The part of an input that is still looked at. Places in it are counted from its start.
class Buffer {
 public:
  Buffer(const SecretRules& rules, SecretScanOptions options)
      : rules_(rules), options_(std::move(options)), engine_(rules_.data(), options_) {}

  void Append(std::string_view chunk) { text_ += chunk; }
  std::string_view text() const { return text_; }
  size_t done() const { return done_; }
  std::vector<SecretHit> Scan() { return engine_.Scan(text_); }

  // All before `at` is dealt with; what stands directly before is kept as context.
  void Finish(size_t at) {
    done_ = at;
    size_t dropped = at - std::min(at, kContext);
    if (dropped < kContext && dropped < text_.size() / 2) return;
    lines_.Skip(std::string_view(text_).substr(0, dropped));
    base_ += dropped;
    done_ -= dropped;
    text_.erase(0, dropped);
  }

  std::vector<SecretFinding> OfPath() const {
    std::vector<SecretFinding> findings;
    for (uint32_t number : rules_.data().path_rules) {
      const SecretRule& rule = rules_.data().rules[number];
      if (rules_.data().enabled[number] == 0 || !rule.path.Matches(options_.path)) continue;
      findings.push_back(
          {.rule = std::string(rule.id), .description = std::string(rule.description)});
    }
    return findings;
  }

  SecretFinding Finding(const SecretHit& hit) const {
    Lines lines = lines_;
    lines.Skip(std::string_view(text_).substr(0, hit.begin));
    return {.rule = hit.rule,
            .description = std::string(hit.description),
            .begin = base_ + hit.begin,
            .end = base_ + hit.end,
            .line = lines.line(),
            .column = lines.column(),
            .encoding = hit.encoding,
            .preview = hit.preview,
            .fingerprint = hit.fingerprint};
  }

 private:
  SecretRules rules_;
  SecretScanOptions options_;
  SecretEngine engine_;
  std::string text_;
  size_t done_ = 0;
  uint64_t base_ = 0;
  Lines lines_;
};

}  // namespace

class SecretScanner::Stream {
 public:
  Stream(const SecretRules& rules, SecretScanOptions options)
      : buffer_(rules, std::move(options)) {}

  void Feed(std::string_view chunk, std::vector<SecretFinding>& findings) {
    JudgePath(findings);
    while (!chunk.empty()) {
      size_t taken = std::min(chunk.size(), kBlock);
      buffer_.Append(chunk.substr(0, taken));
      chunk.remove_prefix(taken);
      if (buffer_.text().size() - buffer_.done() >= kBlock) Process(findings, kTail);
    }
  }

  void Finish(std::vector<SecretFinding>& findings) {
    JudgePath(findings);
    Process(findings, 0);
  }

 private:
  // Some rules are about the name of a file alone.
  void JudgePath(std::vector<SecretFinding>& findings) {
    if (std::exchange(path_judged_, true)) return;
    for (SecretFinding& finding : buffer_.OfPath()) findings.push_back(std::move(finding));
  }

  // What starts in the last `tail` bytes is left for the next time.
  void Process(std::vector<SecretFinding>& findings, size_t tail) {
    std::vector<SecretHit> hits = buffer_.Scan();
    size_t size = buffer_.text().size();
    size_t limit = size - std::min(size, tail);
    for (const SecretHit& hit : hits) {
      bool goes_on = tail > 0 && hit.end == size && size - hit.begin < kLongest;
      if (goes_on) limit = std::min(limit, std::max(hit.begin, buffer_.done()));
    }
    for (const SecretHit& hit : hits) {
      if (hit.begin >= buffer_.done() && hit.begin < limit)
        findings.push_back(buffer_.Finding(hit));
    }
    buffer_.Finish(limit);
  }

  Buffer buffer_;
  bool path_judged_ = false;
};

SecretScanner::SecretScanner(const SecretRules& rules, SecretScanOptions options)
    : stream_(std::make_unique<Stream>(rules, std::move(options))) {}
SecretScanner::SecretScanner(SecretScanner&&) noexcept = default;
SecretScanner::~SecretScanner() = default;

void SecretScanner::Feed(std::string_view chunk, std::vector<SecretFinding>& findings) {
  stream_->Feed(chunk, findings);
}

void SecretScanner::Finish(std::vector<SecretFinding>& findings) { stream_->Finish(findings); }

class SecretRedactor::Stream {
 public:
  Stream(const SecretRules& rules, SecretScanOptions options)
      : buffer_(rules, std::move(options)) {}

  std::string Feed(std::string_view chunk) {
    std::string out;
    while (!chunk.empty()) {
      size_t taken = std::min(chunk.size(), kBlock);
      buffer_.Append(chunk.substr(0, taken));
      fresh_ += taken;
      chunk.remove_prefix(taken);
      // A long part that is held back is not read again for each byte that comes.
      size_t held = buffer_.text().size() - buffer_.done();
      if (held < kTail || fresh_ >= held / 8) out += Process(SafeEnd());
    }
    return out;
  }

  std::string Finish() { return Process(buffer_.text().size()); }
  const std::vector<SecretFinding>& findings() const { return findings_; }

 private:
  // Before this, nothing can be the beginning of a secret that is not all there: the last
  // word may be, and lines of encoded text before it.
  size_t SafeEnd() const {
    std::string_view text = buffer_.text();
    size_t end = text.size();
    while (end > buffer_.done() && text.size() - end < kTail && !IsSpace(text[end - 1])) --end;
    while (text.size() - end < kLongest) {
      size_t line_end = end;
      while (line_end > buffer_.done() && IsSpace(text[line_end - 1])) --line_end;
      size_t line = line_end;
      while (line > buffer_.done() && (IsRunByte(text[line - 1]) || text[line - 1] == '=')) --line;
      if (line_end == end || line_end - line < kWrapAt) break;
      end = line;
    }
    return end;
  }

  std::string Process(size_t limit) {
    fresh_ = 0;
    std::vector<SecretHit> hits = buffer_.Scan();
    size_t size = buffer_.text().size();
    for (const SecretHit& hit : hits) {
      bool goes_on = limit < size && hit.end == size && size - hit.begin < kLongest;
      if (goes_on || (hit.begin < limit && hit.end > limit)) {
        limit = goes_on ? std::min(limit, std::max(hit.begin, buffer_.done())) : hit.end;
      }
    }
    std::string out;
    size_t at = buffer_.done();
    for (const SecretHit& hit : hits) {
      if (hit.end <= at || hit.begin >= limit) continue;
      out += buffer_.text().substr(at, std::max(hit.begin, at) - at);
      out += "[REDACTED:" + hit.rule + "]";
      findings_.push_back(buffer_.Finding(hit));
      at = hit.end;
    }
    if (at < limit) out += buffer_.text().substr(at, limit - at);
    buffer_.Finish(std::max(at, limit));
    return out;
  }

  Buffer buffer_;
  size_t fresh_ = 0;
  std::vector<SecretFinding> findings_;
};

SecretRedactor::SecretRedactor(const SecretRules& rules, SecretScanOptions options)
    : stream_(std::make_unique<Stream>(rules, std::move(options))) {}
SecretRedactor::SecretRedactor(SecretRedactor&&) noexcept = default;
SecretRedactor::~SecretRedactor() = default;

std::string SecretRedactor::Feed(std::string_view chunk) { return stream_->Feed(chunk); }
std::string SecretRedactor::Finish() { return stream_->Finish(); }
const std::vector<SecretFinding>& SecretRedactor::findings() const { return stream_->findings(); }

std::vector<SecretFinding> FindSecrets(const SecretRules& rules, std::string_view text,
                                       const SecretScanOptions& options) {
  std::vector<SecretFinding> findings;
  SecretScanner scanner(rules, options);
  scanner.Feed(text, findings);
  scanner.Finish(findings);
  return findings;
}

std::string RedactSecrets(const SecretRules& rules, std::string_view text,
                          std::vector<SecretFinding>* findings, const SecretScanOptions& options) {
  SecretRedactor redactor(rules, options);
  std::string out = redactor.Feed(text);
  out += redactor.Finish();
  if (findings != nullptr) *findings = redactor.findings();
  return out;
}

}  // namespace cordon::guard
