// The shell reader: reads anything without a fault, the same twice, and what follows a
// line that was read is a command of its own.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "guard/command_effects.h"
#include "guard/shell_reader.h"

namespace {

using namespace cordon::guard;

void Require(bool holds) {
  if (!holds) abort();
}

// No line hides the command on the next one, whatever it holds.
void CheckNext(std::string_view text, const ShellLine& line) {
  auto longer = ReadShell(std::string(text) + "\nrm x");
  // Only a comment's or a word's backslash at the very end takes the newline away.
  if (!longer || text.ends_with('\\')) return;
  Require(longer->commands.size() == line.commands.size() + 1);
  Require(longer->commands.back().words.size() == 2 && !longer->plain);
  Require(longer->commands.back().words[0].text == "rm");
  CommandReport report = JudgeCommand(std::string(text) + "\nrm x");
  Require(report.effect == Effect::kDestructive);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto line = ReadShell(text);
  CommandReport report = JudgeCommand(text);
  if (!line) {
    Require(report.effect == Effect::kUnknown && !report.simple);
    Require(!IsExcludedCommand(text, {"ls"}));
    return 0;
  }
  Require(*ReadShell(text) == *line);
  Require(!line->opaque || report.effect >= Effect::kUnknown);
  Require(report.commands.size() == line->commands.size());
  for (const CommandFinding& finding : report.commands) Require(finding.effect <= report.effect);
  if (IsExcludedCommand(text, {"ls"})) {
    Require(line->plain && line->commands.size() == 1 && line->commands[0].words[0].text == "ls");
  }
  CheckNext(text, *line);
  return 0;
}
