// Reads a shell line as bash would, and yields its simple commands: those of
// pipelines, lists, loops, functions and subshells, and those inside
// substitutions, also in quotes and in here-documents. Nothing is expanded or
// run. What it is not sure to read as the shell does, it refuses: for prompts
// that is "unknown", and a person looks. Linear in the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon::guard {

struct ShellWord {
  std::string raw;   // as written
  std::string text;  // without quotes; up to the first expansion if there is one
  bool literal = true;
  bool splits = false;  // may become several words, or none
  bool operator==(const ShellWord&) const = default;
};

struct Redirection {
  enum class Kind { kRead, kWrite, kDuplicate, kText };  // the last: << and <<<
  Kind kind = Kind::kRead;
  ShellWord target;
  bool operator==(const Redirection&) const = default;
};

struct SimpleCommand {
  struct Assignment {
    std::string name;
    ShellWord value;
    bool operator==(const Assignment&) const = default;
  };
  std::vector<Assignment> assignments;
  std::vector<ShellWord> words;  // none: only assignments or the redirections of a compound
  std::vector<Redirection> redirections;
  bool operator==(const SimpleCommand&) const = default;
};

struct ShellLine {
  std::vector<SimpleCommand> commands;  // in the order in which they end
  bool plain = true;    // no pipe, list, compound, background, substitution or function
  bool opaque = false;  // may run what a variable holds: arithmetic, ${x@P}, ${!x}, coproc
  bool operator==(const ShellLine&) const = default;
};

// The error is kCommandInvalid: not a command line, nested too deeply, longer
// than 256 KiB, or written in a way that shells read differently.
Result<ShellLine> ReadShell(std::string_view text);

}  // namespace cordon::guard
