// What commands do, as data.
#pragma once

#include <span>
#include <string_view>

#include "guard/command_effects.h"

namespace cordon::guard {

// One row for one or more commands ("a|b"), each a name and perhaps subcommands ("git
// log"); "$" stands for no more words. The row with most words decides, and all rows of those words
// together: the worst of `effect` and, where a flag of `flags` is given, of `with_flag`. A flag is
// "-x" (also among others, "-ax"), "--long" (also shortened, also "--long=x") or "-word" or "word",
// compared whole or up to "=".
struct CommandRow {
  std::string_view names;
  Effect effect;
  std::string_view flags = {};
  Effect with_flag = Effect::kUnknown;
};
std::span<const CommandRow> CommandRows();

// Options that may stand before a subcommand: those that take the next word as their
// value, and those that do not.
struct GlobalOptions {
  std::string_view command;
  std::string_view with_value;
  std::string_view alone;
};
std::span<const GlobalOptions> AllGlobalOptions();

// Commands that run the command that follows their own options and so many operands.
struct Wrapper {
  std::string_view names;
  std::string_view with_value;  // options whose value is the next word
  int operands = 0;
  Effect at_least = Effect::kReadOnly;
};
std::span<const Wrapper> Wrappers();

}  // namespace cordon::guard
