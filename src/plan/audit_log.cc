#include "plan/audit_log.h"

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"

namespace cordon::plan {

Error AuditLogInReach(const Policy& policy, const std::string& place) {
  auto said = policy.origins.find("audit.log");
  std::string where = said == policy.origins.end() ? "" : said->second.ToString() + ": ";
  return base::InvalidArgument(Reason::kPolicyBadValue,
                               where + "audit.log: " + base::Printable(place) +
                                   " lies in a writable root, where the command could change it",
                               "choose a place outside, such as ~/.local/state/cordon/audit.jsonl");
}

bool IsOwnState(const AuditLogInputs& in, const std::string& place) {
  if (!in.state.empty() && guard::IsInside(place, in.state)) return true;
  return !in.home.empty() && guard::IsInside(place, in.home + "/.local/state/cordon");
}

Result<std::string> AuditLogPlace(const AuditLogInputs& in) {
  const std::string& path = in.policy.audit.log;
  std::string directory = in.probe.Follow("/", std::string(guard::Parent(path))).end;
  std::string place = guard::JoinPath(directory, guard::BaseName(path));
  if (IsOwnState(in, place)) return place;
  for (const PathRule& root : in.policy.fs.write) {
    host::PathInfo info = in.probe.Inspect(root.path);
    if (guard::IsInside(place, info.exists() ? info.canonical : root.path)) {
      return AuditLogInReach(in.policy, place);
    }
  }
  return place;
}

}  // namespace cordon::plan
