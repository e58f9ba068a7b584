// What is done about secrets in what a tool is given and in what it gives back, as
// `leaks` of the policy says. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/json.h"
#include "agent/tool.h"
#include "cordon/policy.h"
#include "guard/secrets/scanner.h"

namespace cordon::agent {

class LeakGuard {
 public:
  // An agent's tools are scanned, and secrets redacted, unless the policy says otherwise.
  // Values of variables that are called secrets are looked for by their value, too.
  // Nothing if the policy switches it off.
  static Result<std::unique_ptr<LeakGuard>> Create(
      const Policy& policy, const std::map<std::string, std::string>& environment);

  OnLeak on_leak() const { return on_leak_; }
  const guard::SecretRules& rules() const { return rules_; }

  // An error (secret_found) that names the rule if any string of it has a secret.
  Status CheckArguments(const Json& arguments) const;

  // The text with each secret replaced and as many lines as before; the rules that
  // found one are appended to `leaks`.
  std::string Redact(std::string_view text, std::vector<std::string>& leaks) const;

  // The same for every string of it.
  void RedactAll(Json& json, std::vector<std::string>& leaks) const;

  // The last word on a result: redacted, or withheld.
  ToolResult Guard(ToolResult result) const;

 private:
  LeakGuard(guard::SecretRules rules, OnLeak on_leak)
      : rules_(std::move(rules)), on_leak_(on_leak) {}

  guard::SecretRules rules_;
  OnLeak on_leak_;
};

}  // namespace cordon::agent
