// The one place that says how a model reads a result: how a command ended, what it
// wrote, what was cut, what was denied and by which rule, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "agent/json.h"
#include "agent/output_record.h"
#include "cordon/outcome.h"

namespace cordon::agent {

struct CommandText {
  std::string state;  // "exit code 0", "timed out after 60 s"
  ShownOutput out;
  ShownOutput err;
  std::vector<Violation> violations;
  std::string hint;
};
std::string Format(const CommandText& parts);

// A call that was not done.
std::string Format(const Error& error, const std::vector<Violation>& violations);

// "<sandbox_violations>…</sandbox_violations>", one line each; empty for none. Names
// from inside cannot end the block.
std::string ViolationsBlock(const std::vector<Violation>& violations);

// How a run ended, in words; and the hint for it, if there is one.
std::string StateOf(const Outcome& outcome, uint64_t wall_ms);
std::string HintOf(const Outcome& outcome);

Json ViolationsJson(const std::vector<Violation>& violations);

}  // namespace cordon::agent
