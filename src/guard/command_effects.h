// What a shell line would do, told from its text. For prompts and approvals:
// the text cannot say what a program does, so this is never a boundary, and
// what is not known is called unknown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guard/shell_reader.h"

namespace cordon::guard {

// The later, the more careful one must be.
enum class Effect { kReadOnly, kLocalChange, kRemote, kUnknown, kDestructive };
std::string_view EffectName(Effect effect);  // "read-only", "local-change"

struct CommandFinding {
  std::string command;  // as written
  std::string name;     // its first word without quotes; empty: none, or it is an expansion
  Effect effect = Effect::kUnknown;
  std::string why;
};

struct CommandReport {
  Effect effect = Effect::kUnknown;  // the worst of all
  std::string why;                   // of that one
  std::vector<CommandFinding> commands;
  bool simple = false;  // the whole line is one simple command
};

// A line that cannot be read is kUnknown, with the reason in `why`. Follows sh -c,
// eval, sudo, env, xargs, timeout, find -exec and their like.
CommandReport JudgeCommand(std::string_view line);

// Whether the whole line is one simple command and nothing else (no redirection but
// to /dev/null, no assignment, no expansion) whose first words are those of an entry:
// "docker", "git push". A path is another command: "./docker" is not "docker".
bool IsExcludedCommand(std::string_view line, const std::vector<std::string>& excluded);

}  // namespace cordon::guard
