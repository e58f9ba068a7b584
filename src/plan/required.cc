#include "plan/required.h"

#include "base/error.h"
#include "base/strings.h"

namespace cordon::plan {
namespace {

bool Names(const std::string& required, const std::string& feature) {
  return feature == required || feature.starts_with(required + ".");
}

// A limit that was not asked for is not a failure to enforce it.
constexpr const char* kNoLimit = "no limit set";
bool NotAsked(const Enforcement& item) { return item.note == kNoLimit; }

}  // namespace

Status CheckRequired(const Policy& policy, const std::vector<Enforcement>& enforced) {
  if (policy.trust == Trust::kForbid) {
    return Error{.code = Code::kDenied,
                 .reason = Reason::kPolicyTrustForbid,
                 .message = "trust = \"forbid\": no sandboxed run at all"};
  }
  auto refuse = [](const Enforcement& item, const std::string& by) {
    return Error{.code = Code::kUnsupported,
                 .reason = Reason::kRequirementUnmet,
                 .message = by + ": " + item.feature + " can only be enforced as \"" +
                            std::string(LevelName(item.level)) + "\" here" +
                            (item.note.empty() ? "" : " (" + item.note + ")")};
  };
  for (const Entry& required : policy.require) {
    bool known = false;
    for (const Enforcement& item : enforced) {
      if (!Names(required.text, item.feature)) continue;
      known = true;
      if (item.level != Level::kFull && !(NotAsked(item) && item.feature != required.text)) {
        return refuse(item, "require (" + required.origin.ToString() + ")");
      }
    }
    if (!known) {
      return base::InvalidArgument(Reason::kPolicyBadValue,
                                   required.origin.ToString() + ": require: no feature \"" +
                                       base::Printable(required.text) + "\"");
    }
  }
  if (policy.trust != Trust::kRequire) return {};
  for (const Enforcement& item : enforced) {
    if (item.level != Level::kFull && !NotAsked(item)) return refuse(item, "trust = \"require\"");
  }
  return {};
}

Enforcement OfLimit(const char* feature, const std::optional<uint64_t>& limit,
                    const char* mechanism, Level level, const char* note) {
  if (!limit) return {feature, "", Level::kNone, kNoLimit};
  return {feature, mechanism, level, note};
}

}  // namespace cordon::plan
