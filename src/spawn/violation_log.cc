// Runs in: supervisor, broker thread.
#include "spawn/violation_log.h"

#include "base/strings.h"

namespace cordon::spawn {

void ViolationLog::Add(Reason reason, const char* operation, const std::string& subject,
                       const std::string& rule, const std::string& hint) {
  constexpr size_t kMost = 256;
  auto key = std::pair(std::string(operation), subject);
  if (auto found = seen_.find(key); found != seen_.end()) {
    ++found->second.count;
    return;
  }
  Violation violation{reason, operation, base::Printable(subject), rule, hint, 1};
  if (sink_) sink_(violation);
  if (seen_.size() < kMost) seen_[std::move(key)] = std::move(violation);
}

std::vector<Violation> ViolationLog::Take() {
  std::vector<Violation> violations;
  for (auto& [key, violation] : seen_) violations.push_back(std::move(violation));
  seen_.clear();
  return violations;
}

}  // namespace cordon::spawn
