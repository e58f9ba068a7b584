// The calls of include/cordon/guard.h.
#include "cordon/guard.h"
#include "guard/command_effects.h"
#include "guard/env.h"
#include "guard/net_rules.h"
#include "guard/path_guard.h"
#include "guard/secrets/scanner.h"
#include "guard/url.h"

namespace cordon {
namespace {

template <typename Answer>
Answer Denied(Reason reason, std::string rule) {
  Answer answer;
  answer.reason = reason;
  answer.rule = std::move(rule);
  return answer;
}

template <typename Answer, typename Decision>
Answer Told(const Decision& decision) {
  Answer answer;
  answer.allowed = decision.allowed;
  answer.reason = decision.reason;
  answer.rule = decision.rule;
  return answer;
}

guard::NetRules AnyPublicHost() {
  guard::NetRules rules;
  rules.mode = NetMode::kPublic;
  return rules;
}

}  // namespace

PathAnswer CheckPath(const PathQuestion& question, std::string_view path) {
  guard::PathRules rules;
  rules.root = question.root;
  rules.data_dir = question.data_dir;
  rules.config_path = question.config_path;
  rules.identity_files = question.identity_files;
  bool writes = question.use == PathQuestion::Use::kWrite;
  guard::PathDecision decision =
      guard::CheckPath(rules, path, writes ? guard::PathUse::kWrite : guard::PathUse::kRead);
  auto answer = Told<PathAnswer>(decision);
  answer.path = decision.path;
  answer.hard_linked = decision.hard_linked;
  return answer;
}

GuardAnswer CheckUrl(std::string_view url) {
  Result<guard::Url> parsed = guard::ParseUrl(url);
  if (!parsed) return Denied<GuardAnswer>(parsed.error().reason, parsed.error().message);
  const guard::HostPort& target = parsed->target;
  return Told<GuardAnswer>(guard::DecideHost(AnyPublicHost(), target.host, target.port));
}

AddressAnswer CheckAddresses(std::string_view url, const std::vector<std::string>& addresses) {
  Result<guard::Url> parsed = guard::ParseUrl(url);
  if (!parsed) return Denied<AddressAnswer>(parsed.error().reason, parsed.error().message);
  const guard::HostPort& target = parsed->target;
  guard::NetDecision host = guard::DecideHost(AnyPublicHost(), target.host, target.port);
  if (!host.allowed) return Told<AddressAnswer>(host);
  std::vector<guard::IpAddress> answers;
  for (const std::string& text : addresses) {
    auto address = guard::ParseIp(text);
    if (!address) return Denied<AddressAnswer>(Reason::kAddressDenied, "not an address");
    answers.push_back(*address);
  }
  auto chosen = guard::DecideAnswers(AnyPublicHost(), target.host, answers, target.port);
  auto answer = Told<AddressAnswer>(chosen.decision);
  if (answer.allowed) answer.address = ToString(chosen.address);
  return answer;
}

GuardAnswer CheckVariable(std::string_view name, std::string_view value) {
  return Told<GuardAnswer>(guard::CheckVariable(name, value));
}

CommandAnswer CheckCommand(std::string_view line) {
  guard::CommandReport report = guard::JudgeCommand(line);
  CommandAnswer answer;
  answer.allowed = report.effect == guard::Effect::kReadOnly;
  answer.reason = answer.allowed ? Reason::kInternal : Reason::kCommandEffect;
  answer.rule = report.why;
  answer.effect = guard::EffectName(report.effect);
  for (guard::CommandFinding& finding : report.commands) {
    answer.commands.push_back(std::move(finding.command));
  }
  answer.simple = report.simple;
  return answer;
}

TextAnswer CheckText(std::string_view text) {
  static const Result<guard::SecretRules> kRules = guard::LoadSecretRules({});
  if (!kRules) return Denied<TextAnswer>(kRules.error().reason, kRules.error().message);
  TextAnswer answer;
  std::vector<guard::SecretFinding> found;
  answer.redacted = guard::RedactSecrets(*kRules, text, &found);
  answer.allowed = found.empty();
  if (answer.allowed) return answer;
  answer.reason = Reason::kSecretFound;
  answer.rule = found.front().description;
  for (guard::SecretFinding& one : found) {
    answer.leaks.push_back({std::move(one.rule), std::move(one.preview), one.begin, one.end});
  }
  return answer;
}

}  // namespace cordon
