#include "agent/denials.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "guard/path.h"

namespace cordon::agent {
namespace {

constexpr size_t kMostLines = 200;
constexpr size_t kMostFound = 10;

constexpr std::array<std::string_view, 3> kComplaints = {
    "Permission denied", "Read-only file system", "Operation not permitted"};

bool Complains(std::string_view line) {
  return std::ranges::any_of(kComplaints,
                             [&](std::string_view word) { return line.find(word) != line.npos; });
}

// Pieces of a line that may be a path: what is quoted, and what stands between
// spaces or colons.
std::vector<std::string> Candidates(std::string_view line) {
  std::vector<std::string> found;
  for (std::string_view quotes : {"''", "\"\"", "`'"}) {
    size_t open = line.find(quotes[0]);
    size_t close = open == line.npos ? open : line.find(quotes[1], open + 1);
    if (close != line.npos) found.emplace_back(line.substr(open + 1, close - open - 1));
  }
  for (std::string& part : base::Split(line, ':')) {
    size_t begin = part.find_first_not_of(' ');
    if (begin == part.npos) continue;
    found.push_back(part.substr(begin));
    size_t space = part.rfind(' ');
    if (space != part.npos && space > begin) found.push_back(part.substr(space + 1));
  }
  std::erase_if(found, [](const std::string& text) {
    return text.empty() || text.size() > 4096 || text.find('\0') != text.npos;
  });
  return found;
}

std::optional<Violation> Judge(const std::string& text, bool changes, const std::string& directory,
                               const plan::Plan& plan, const FsPolicy& policy,
                               const host::PathProbe& probe) {
  std::string path = guard::NormalizePath(guard::JoinPath(directory, text));
  // A word that is no path at all is not to be blamed on the policy.
  bool there =
      probe.Inspect(path).exists() || probe.Inspect(std::string(guard::Parent(path))).exists();
  if (!there || (text.find('/') == text.npos && !probe.Inspect(path).exists())) return {};
  for (plan::Act act : {plan::Act::kRead, plan::Act::kWrite}) {
    if (act == plan::Act::kWrite && !changes) continue;
    plan::Explanation answer = plan::Explain(plan, policy, probe, act, path);
    if (!answer.verdict.allowed) return DenialOf(act, answer);
  }
  return {};
}

// Reading fails in the same words; only a complaint about a read-only file system
// or of a program that changes things is about writing.
bool AboutChange(std::string_view line) {
  if (line.find("Read-only") != line.npos) return true;
  constexpr std::array<std::string_view, 14> kChangers = {
      "touch", "mkdir", "rmdir",  "rm:",   "mv:",    "cp:",    "ln:",
      "chmod", "chown", "create", "write", "remove", "unlink", "sh:"};
  return std::ranges::any_of(kChangers,
                             [&](std::string_view word) { return line.find(word) != line.npos; });
}

}  // namespace

Violation DenialOf(plan::Act act, const plan::Explanation& answer) {
  bool writes = act == plan::Act::kWrite;
  return {.reason = writes ? Reason::kWriteDenied : Reason::kReadDenied,
          .operation = writes ? "write" : "read",
          .subject = answer.path,
          .rule = answer.verdict.rule,
          .hint = answer.verdict.hint};
}

std::vector<Violation> DenialsIn(std::string_view stderr_text, const std::string& directory,
                                 const plan::Plan& plan, const FsPolicy& policy,
                                 const host::PathProbe& probe) {
  std::vector<Violation> found;
  size_t lines = 0;
  for (const std::string& line : base::Split(stderr_text, '\n')) {
    if (!Complains(line)) continue;
    if (++lines > kMostLines || found.size() >= kMostFound) break;
    for (const std::string& text : Candidates(line)) {
      auto denial = Judge(text, AboutChange(line), directory, plan, policy, probe);
      if (!denial) continue;
      auto same = std::ranges::find_if(found, [&](const Violation& other) {
        return other.subject == denial->subject && other.operation == denial->operation;
      });
      if (same == found.end()) found.push_back(std::move(*denial));
      break;
    }
  }
  return found;
}

}  // namespace cordon::agent
