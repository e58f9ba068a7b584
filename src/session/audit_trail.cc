#include "session/audit_trail.h"

#include <set>

#include "audit/log.h"
#include "host/real_paths.h"
#include "plan/audit_log.h"

namespace cordon::session {
namespace {

constexpr int kRefused = 125;  // what `cordon run` ends with

// Presets, files and flags that had a say.
std::vector<std::string> SourcesOf(const Policy& policy) {
  std::set<std::string> sources;
  for (const auto& [key, origin] : policy.origins) sources.insert(origin.source);
  const FsPolicy& fs = policy.fs;
  for (const PathRules* rules : {&fs.read, &fs.deny_read, &fs.allow_read_within_deny, &fs.write,
                                 &fs.deny_write, &fs.deny_new, &policy.net.unix_sockets}) {
    for (const PathRule& rule : *rules) sources.insert(rule.origin.source);
  }
  for (const Entries* entries : {&policy.net.allow, &policy.net.deny, &policy.env.pass}) {
    for (const Entry& entry : *entries) sources.insert(entry.origin.source);
  }
  sources.erase("");
  return {sources.begin(), sources.end()};
}

}  // namespace

Status OpenAudit(Request& request) {
  if (request.policy.audit.log.empty() || request.audit) return {};
  host::RealPaths probe;
  plan::AuditLogInputs inputs{.policy = request.policy,
                              .probe = probe,
                              .home = {},
                              .state = StateDirectory(request.environment)};
  if (auto home = request.environment.find("HOME"); home != request.environment.end()) {
    inputs.home = probe.Inspect(home->second).canonical;
  }
  CORDON_ASSIGN_OR_RETURN(std::string place, plan::AuditLogPlace(inputs));
  auto file = audit::OpenFile(place);
  if (!file) {
    auto said = request.policy.origins.find("audit.log");
    std::string key = said == request.policy.origins.end() ? "" : said->second.ToString() + ": ";
    return std::move(file).error().Within(key + "audit.log");
  }
  request.policy.audit.log = std::move(place);
  request.audit =
      std::make_shared<audit::Log>(std::move(*file), audit::NewRunId(), audit::Log::kMostOfRun);
  return {};
}

audit::RunStart StartOf(const Request& request, host::Backend backend,
                        const Result<plan::Plan>& plan) {
  return {.command = request.argv,
          .directory = request.directory.empty() ? request.workspace : request.directory,
          .workspace = request.workspace,
          .policy = SourcesOf(request.policy),
          .backend = std::string(host::BackendName(backend)),
          .enforcement = plan ? plan->enforcement : std::vector<Enforcement>()};
}

audit::RunEnd EndOf(const Result<Outcome>& outcome, uint64_t lost) {
  if (!outcome) {
    return {.outcome = "refused",
            .reason = outcome.error().reason,
            .exit_status = kRefused,
            .message = outcome.error().message,
            .lost = lost};
  }
  audit::RunEnd end{.outcome = OutcomeKindName(outcome->kind),
                    .reason = outcome->reason,
                    .exit_status = outcome->ExitStatus(),
                    .message = outcome->message,
                    .usage = outcome->usage,
                    .lost = lost};
  for (const Violation& violation : outcome->violations) end.denials += violation.count;
  return end;
}

}  // namespace cordon::session
