#include "cli/outcome_text.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace cordon::cli {
namespace {

using Json = nlohmann::ordered_json;

// JSON is UTF-8; the command's output may be anything.
std::string Text(const std::string& bytes) {
  return base::IsValidUtf8(bytes) ? bytes : base::Printable(bytes);
}

Json EnforcementJson(const std::vector<Enforcement>& list) {
  Json json = Json::object();
  for (const Enforcement& item : list) {
    Json entry = {{"level", LevelName(item.level)}, {"mechanism", item.mechanism}};
    if (!item.note.empty()) entry["note"] = item.note;
    json[item.feature] = std::move(entry);
  }
  return json;
}

constexpr size_t kMostShown = 10;

// Of a backend that gives less: what is missing, once, with what was asked for.
std::string BackendNotice(const Outcome& outcome) {
  if (outcome.backend.empty() || outcome.backend == "namespaces") return {};
  std::string notice;
  for (const Enforcement& item : outcome.enforcement) {
    bool limit = item.feature.starts_with("limits.");
    if (item.level == Level::kFull || limit) continue;
    notice += fmt::format("{}{} {} ({})", notice.empty() ? "" : ", ", item.feature,
                          LevelName(item.level), item.note);
  }
  if (notice.empty()) return {};
  return fmt::format("cordon: backend {}: {}\n", outcome.backend, notice);
}

}  // namespace

std::string OutcomeJson(const Outcome& outcome) {
  Json json;
  json["backend"] = outcome.backend;
  json["kind"] = OutcomeKindName(outcome.kind);
  json["reason"] = ReasonId(outcome.reason);
  json["exit_status"] = outcome.ExitStatus();
  if (outcome.kind == OutcomeKind::kExited) json["exit_code"] = outcome.exit_code;
  if (outcome.kind == OutcomeKind::kSignaled) json["signal"] = outcome.signal;
  if (!outcome.message.empty()) json["message"] = Text(outcome.message);
  json["stdout"] = Text(outcome.out);
  json["stderr"] = Text(outcome.err);
  json["stdout_truncated"] = outcome.out_truncated;
  json["stderr_truncated"] = outcome.err_truncated;
  json["usage"] = {{"wall_ms", outcome.usage.wall_ms},
                   {"cpu_ms", outcome.usage.cpu_ms},
                   {"max_rss_kb", outcome.usage.max_rss_kb}};
  json["enforcement"] = EnforcementJson(outcome.enforcement);
  json["violations"] = Json::array();
  for (const Violation& violation : outcome.violations) {
    json["violations"].push_back({{"reason", ReasonId(violation.reason)},
                                  {"operation", violation.operation},
                                  {"subject", base::Printable(violation.subject)},
                                  {"rule", base::Printable(violation.rule)},
                                  {"hint", base::Printable(violation.hint)},
                                  {"count", violation.count}});
  }
  json["new_repositories"] = Json::array();
  for (const std::string& path : outcome.new_repositories) {
    json["new_repositories"].push_back(base::Printable(path));
  }
  json["dropped_environment"] = Json::array();
  for (const std::string& name : outcome.dropped_environment) {
    json["dropped_environment"].push_back(base::Printable(name));
  }
  if (!outcome.audit_problem.empty()) json["audit_problem"] = Text(outcome.audit_problem);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string OutcomeNotice(const Outcome& outcome) {
  std::string notice = BackendNotice(outcome);
  if (outcome.kind != OutcomeKind::kExited && outcome.kind != OutcomeKind::kSignaled) {
    notice += fmt::format("cordon: {}\n", base::Printable(outcome.message));
  }
  size_t shown = 0;
  for (const Violation& violation : outcome.violations) {
    if (++shown > kMostShown) {
      notice +=
          fmt::format("cordon: … and {} more denials\n", outcome.violations.size() - kMostShown);
      break;
    }
    notice += fmt::format("cordon: denied: {} {} ({}: {}){}{}\n", violation.operation,
                          base::Printable(violation.subject), ReasonId(violation.reason),
                          base::Printable(violation.rule), violation.hint.empty() ? "" : "; ",
                          base::Printable(violation.hint));
  }
  for (const std::string& path : outcome.new_repositories) {
    notice += fmt::format(
        "cordon: made a git repository, whose hooks and configuration are its "
        "own: {}\n",
        base::Printable(path));
  }
  if (!outcome.audit_problem.empty()) {
    notice += fmt::format("cordon: the audit log is not complete: {}\n",
                          base::Printable(outcome.audit_problem));
  }
  return notice;
}

}  // namespace cordon::cli
