// Finds leaked secrets in text, and in what the text decodes to: URL-encoding,
// base64, hex, UTF-16, JSON, shell and HTML escapes, gzip, nested three deep.
//
//   CORDON_ASSIGN_OR_RETURN(SecretRules rules, LoadSecretRules({}));
//   for (const SecretFinding& found : FindSecrets(rules, text)) …
//
// A finding tells the rule and the place, never the secret. What is done about it
// (redact, block, terminate) is the caller's. Memory is bounded whatever the input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon::guard {

struct SecretFinding {
  std::string rule;         // "github-pat"; "known:NAME" for an exact secret
  std::string description;  // "GitHub personal access token"
  std::uint64_t begin = 0;  // in the input as it came, also when it was encoded there
  std::uint64_t end = 0;
  std::uint64_t line = 1;
  std::uint64_t column = 1;  // in bytes
  std::string encoding;      // "base64", "url+base64" from outside in; empty: plain
  std::string preview;       // "ghp_…[40]": what kind it is and how long, no more
  // Tells this secret from another of the same rule, for baselines. 20 bits: too few
  // to find out the secret by guessing.
  std::uint32_t fingerprint = 0;

  bool operator==(const SecretFinding&) const = default;
};

// A secret that is known by its value. Values under 8 bytes cannot be looked for.
struct KnownSecret {
  std::string name;
  std::string value;
};

// A rule file in gitleaks' TOML.
struct SecretRuleFile {
  std::string name;  // for messages
  std::string text;
};

struct SecretRuleSources {
  enum class Defaults { kWith, kWithout };
  Defaults defaults = Defaults::kWith;
  std::vector<SecretRuleFile> files;
  std::vector<KnownSecret> known;
  std::vector<std::string> disabled;  // ids of rules
  std::vector<std::string> allow;     // regular expressions: a secret that one matches is none
};

struct SecretRuleData;

// Immutable and cheap to copy; many threads may use one.
class SecretRules {
 public:
  explicit SecretRules(std::shared_ptr<const SecretRuleData> data) : data_(std::move(data)) {}
  const SecretRuleData& data() const { return *data_; }

 private:
  std::shared_ptr<const SecretRuleData> data_;
};

// The error of a bad file names the file and the rule.
Result<SecretRules> LoadSecretRules(const SecretRuleSources& sources);

struct SecretScanOptions {
  // Whether a line that says "cordon:allow" or "gitleaks:allow" is passed over. Not for
  // text that somebody hostile may have written.
  enum class InlineAllow { kIgnore, kHonour };
  InlineAllow inline_allow = InlineAllow::kIgnore;
  std::string path;  // for the rules and allowlists that ask for one
};

// One input, given in chunks of any size; a secret may lie across them.
class SecretScanner {
 public:
  explicit SecretScanner(const SecretRules& rules, SecretScanOptions options = {});
  SecretScanner(SecretScanner&&) noexcept;
  ~SecretScanner();

  // Findings are appended in the order of their places, each once, at the latest by Finish.
  void Feed(std::string_view chunk, std::vector<SecretFinding>& findings);
  void Finish(std::vector<SecretFinding>& findings);

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

// Gives back its input with each secret replaced by "[REDACTED:rule]". It holds back the
// end of what it was fed only as long as that may be the beginning of a secret: the last
// word (up to 16 KiB), a private key or an encoded block that goes on (up to 256 KiB).
class SecretRedactor {
 public:
  explicit SecretRedactor(const SecretRules& rules, SecretScanOptions options = {});
  SecretRedactor(SecretRedactor&&) noexcept;
  ~SecretRedactor();

  std::string Feed(std::string_view chunk);
  std::string Finish();
  // Those of what was given back so far.
  const std::vector<SecretFinding>& findings() const;

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

// The same for text that is all there.
std::vector<SecretFinding> FindSecrets(const SecretRules& rules, std::string_view text,
                                       const SecretScanOptions& options = {});
std::string RedactSecrets(const SecretRules& rules, std::string_view text,
                          std::vector<SecretFinding>* findings = nullptr,
                          const SecretScanOptions& options = {});

}  // namespace cordon::guard
