#include "agent/leak_guard.h"

#include <algorithm>
#include <set>

#include "agent/result_text.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/env.h"

namespace cordon::agent {
namespace {

constexpr size_t kShortestKnown = 8;

std::string Names(const std::vector<std::string>& leaks) {
  std::set<std::string> names(leaks.begin(), leaks.end());
  return base::Join({names.begin(), names.end()}, ", ");
}

Error Found(const std::string& message) {
  return {.code = Code::kDenied,
          .reason = Reason::kSecretFound,
          .message = message,
          .hint = "leave the secret out; a command gets it by net.credential or env.pass"};
}

}  // namespace

Result<std::unique_ptr<LeakGuard>> LeakGuard::Create(
    const Policy& policy, const std::map<std::string, std::string>& environment) {
  bool said = policy.origins.contains("leaks.scan");
  if (said && !policy.leaks.scan) return std::unique_ptr<LeakGuard>();
  guard::SecretRuleSources sources;
  for (const auto& [name, value] : environment) {
    if (guard::LooksSecret(name) && value.size() >= kShortestKnown)
      sources.known.push_back({name, value});
  }
  CORDON_ASSIGN_OR_RETURN(guard::SecretRules rules, guard::LoadSecretRules(sources));
  bool chosen = policy.origins.contains("leaks.on_leak");
  OnLeak on_leak = chosen ? policy.leaks.on_leak : OnLeak::kRedact;
  return std::unique_ptr<LeakGuard>(new LeakGuard(std::move(rules), on_leak));
}

Status LeakGuard::CheckArguments(const Json& arguments) const {
  // As JSON and as the strings it holds: a secret may be spelt over either.
  std::vector<std::string> leaks;
  Json copy = arguments;
  RedactAll(copy, leaks);
  if (leaks.empty()) return {};
  return Found("the arguments hold a secret (" + Names(leaks) + "); the call was not made");
}

std::string LeakGuard::Redact(std::string_view text, std::vector<std::string>& leaks) const {
  std::vector<guard::SecretFinding> findings = guard::FindSecrets(rules_, text);
  if (findings.empty()) return std::string(text);
  std::ranges::sort(findings, {}, &guard::SecretFinding::begin);
  std::string result;
  size_t at = 0;
  for (const guard::SecretFinding& found : findings) {
    leaks.push_back(found.rule);
    if (found.end <= at) continue;
    size_t begin = std::max<size_t>(at, found.begin);
    result += text.substr(at, begin - at);
    result += "[REDACTED:" + found.rule + "]";
    std::string_view gone = text.substr(begin, found.end - begin);
    result.append(static_cast<size_t>(std::ranges::count(gone, '\n')), '\n');
    at = found.end;
  }
  return result += text.substr(at);
}

void LeakGuard::RedactAll(Json& json, std::vector<std::string>& leaks) const {
  if (json.is_string()) {
    json = Redact(json.get_ref<const std::string&>(), leaks);
  } else if (json.is_array()) {
    for (Json& item : json) RedactAll(item, leaks);
  } else if (json.is_object()) {
    Json clean = Json::object();
    for (auto& [key, value] : json.items()) {
      RedactAll(value, leaks);
      clean[Redact(key, leaks)] = std::move(value);
    }
    json = std::move(clean);
  }
}

ToolResult LeakGuard::Guard(ToolResult result) const {
  std::vector<std::string>& leaks = result.leaks;
  std::vector<std::string> again;  // the same ones, once more
  result.text = Redact(result.text, leaks);
  RedactAll(result.structured, leaks.empty() ? leaks : again);
  bool sent = false;
  if (result.attachment) {
    std::vector<std::string> inside;
    Redact(result.attachment->bytes, inside);
    sent = !inside.empty();
    leaks.insert(leaks.end(), inside.begin(), inside.end());
  }
  if (leaks.empty()) return result;
  if (on_leak_ == OnLeak::kRedact && !sent) {
    result.text +=
        "[" + std::to_string(leaks.size()) + " secrets redacted: " + Names(leaks) + "]\n";
    result.structured["redacted"] = Names(leaks);
    return result;
  }
  Error error = Found("the result holds a secret (" + Names(leaks) + ") and is withheld");
  ToolResult withheld(Json{{"error", ReasonId(error.reason)}, {"message", error.message}},
                      Format(error, {}));
  withheld.state = ToolResult::State::kFailed;
  withheld.leaks = std::move(leaks);
  return withheld;
}

}  // namespace cordon::agent
