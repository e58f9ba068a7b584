// Runs in: supervisor, broker thread. What the broker denied.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cordon/outcome.h"

namespace cordon::spawn {

// Told of denials as they happen, and of what a limit ended; by several threads.
using ViolationSink = std::function<void(const Violation&)>;

// Each operation on each subject once, with a count.
class ViolationLog {
 public:
  // `sink` may be empty; it is told of each but those that are counted.
  explicit ViolationLog(ViolationSink sink) : sink_(std::move(sink)) {}

  void Add(Reason reason, const char* operation, const std::string& subject,
           const std::string& rule, const std::string& hint = {});
  std::vector<Violation> Take();

 private:
  ViolationSink sink_;
  std::map<std::pair<std::string, std::string>, Violation> seen_;
};

}  // namespace cordon::spawn
