#include "agent/result_text.h"

#include <fmt/core.h>

#include <cstring>

#include "base/strings.h"

namespace cordon::agent {
namespace {

constexpr size_t kMostShown = 20;

// One line, and no tag of its own.
std::string Plain(std::string_view text) {
  std::string plain = base::Printable(text);
  for (size_t at = 0; (at = plain.find('<', at)) != plain.npos; ++at) plain[at] = '(';
  for (size_t at = 0; (at = plain.find('>', at)) != plain.npos; ++at) plain[at] = ')';
  return plain;
}

std::string WithNewline(std::string text) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

std::string Section(std::string_view name, const ShownOutput& output) {
  if (output.total == 0) return {};
  return fmt::format("[{}]\n{}", name, WithNewline(output.text));
}

}  // namespace

std::string ViolationsBlock(const std::vector<Violation>& violations) {
  if (violations.empty()) return {};
  std::string block = "<sandbox_violations>\n";
  size_t shown = 0;
  for (const Violation& violation : violations) {
    if (++shown > kMostShown) {
      block += fmt::format("… and {} more\n", violations.size() - kMostShown);
      break;
    }
    block += fmt::format("deny {} {}", Plain(violation.operation), Plain(violation.subject));
    if (violation.count > 1) block += fmt::format(" ({} times)", violation.count);
    block += fmt::format(": {}, by {}", ReasonId(violation.reason), Plain(violation.rule));
    if (!violation.hint.empty()) block += "; " + Plain(violation.hint);
    block += '\n';
  }
  return block + "</sandbox_violations>\n";
}

std::string Format(const CommandText& parts) {
  std::string text = "[" + parts.state + "]\n";
  text += Section("stdout", parts.out);
  text += Section("stderr", parts.err);
  if (parts.out.total == 0 && parts.err.total == 0) text += "[no output]\n";
  text += ViolationsBlock(parts.violations);
  if (!parts.hint.empty()) text += "[hint: " + base::Printable(parts.hint) + "]\n";
  return text;
}

std::string Format(const Error& error, const std::vector<Violation>& violations) {
  std::string text = fmt::format("[{}: {}]\n", ReasonId(error.reason), Plain(error.message));
  text += ViolationsBlock(violations);
  if (!error.hint.empty()) text += "[hint: " + base::Printable(error.hint) + "]\n";
  bool denied = error.code == Code::kDenied;
  if (denied) text += "[nothing was read or changed; do not guess what it would have given]\n";
  return text;
}

std::string StateOf(const Outcome& outcome, uint64_t wall_ms) {
  switch (outcome.kind) {
    case OutcomeKind::kExited:
      return fmt::format("exit code {}", outcome.exit_code);
    case OutcomeKind::kSignaled: {
      const char* name = sigabbrev_np(outcome.signal);
      return fmt::format("ended by signal {}{}", outcome.signal,
                         name == nullptr ? "" : fmt::format(" (SIG{})", name));
    }
    case OutcomeKind::kTimedOut:
      return wall_ms == 0
                 ? "timed out"
                 : fmt::format("timed out after {:g} s", static_cast<double>(wall_ms) / 1000.0);
    case OutcomeKind::kLimit:
      return fmt::format("ended over a limit: {}", ReasonId(outcome.reason));
    case OutcomeKind::kCancelled:
      return outcome.reason == Reason::kWaitingForInput ? "ended: it waited for input"
                                                        : "cancelled";
    case OutcomeKind::kExecFailed:
      return fmt::format("not run: {}", Plain(outcome.message));
  }
  return "ended";
}

std::string HintOf(const Outcome& outcome) {
  switch (outcome.reason) {
    case Reason::kTimedOut:
      return "give a longer timeout, or run it with background = true";
    case Reason::kWaitingForInput:
      return "nobody can answer a prompt here: use the flag that answers it (--yes, --no-input)";
    case Reason::kMemoryLimit:
    case Reason::kCpuLimit:
    case Reason::kProcessLimit:
    case Reason::kDiskLimit:
      return "it used more than the policy's limits give; use less at a time";
    default:
      return {};
  }
}

Json ViolationsJson(const std::vector<Violation>& violations) {
  Json list = Json::array();
  for (const Violation& violation : violations) {
    list.push_back({{"reason", ReasonId(violation.reason)},
                    {"operation", violation.operation},
                    {"subject", base::Printable(violation.subject)},
                    {"rule", base::Printable(violation.rule)},
                    {"hint", base::Printable(violation.hint)},
                    {"count", violation.count}});
  }
  return list;
}

}  // namespace cordon::agent
