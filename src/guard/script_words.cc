#include "guard/script_words.h"

#include <algorithm>

namespace cordon::guard {
namespace {

bool IsIn(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// One script, command by command. GNU sed writes files by w and W, runs commands by e.
class Sed {
 public:
  explicit Sed(std::string_view script) : rest_(script) {}

  Effect Judge() {
    Effect worst = Effect::kReadOnly;
    while (Skip(" \t\n;{}"), !rest_.empty()) {
      if (!Addresses() || rest_.empty()) return Effect::kUnknown;
      worst = std::max(worst, Command());
      if (worst == Effect::kUnknown) break;
    }
    return worst;
  }

 private:
  void Skip(std::string_view set) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(set), rest_.size()));
  }
  void SkipTo(std::string_view set) {
    rest_.remove_prefix(std::min(rest_.find_first_of(set), rest_.size()));
  }
  // Past the next `delimiter` that no backslash precedes; false if there is none.
  bool Past(char delimiter) {
    for (size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '[') {
        return false;  // a delimiter in a set is none, and sets are hard to read
      } else if (rest_[i] == delimiter) {
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }
  bool Addresses() {
    while (!rest_.empty() && IsIn(rest_[0], "0123456789$,~+! /\\")) {
      if (rest_[0] == '\\') return false;
      bool pattern = rest_[0] == '/';
      rest_.remove_prefix(1);
      if (pattern && !Past('/')) return false;
      if (pattern) Skip("IM");
    }
    return true;
  }
  Effect Command() {
    char c = rest_[0];
    rest_.remove_prefix(1);
    if (IsIn(c, "pPdDgGhHnNxlqQ={}")) {
      Skip("0123456789");
      return End();
    }
    if (c == 's' || c == 'y') return Substitute();
    if (IsIn(c, "aicrR")) return SkipTo("\n"), Effect::kReadOnly;
    if (IsIn(c, "btT:")) return SkipTo(";\n"), Effect::kReadOnly;
    return c == 'w' || c == 'W' ? (SkipTo("\n"), Effect::kLocalChange) : Effect::kUnknown;
  }
  Effect Substitute() {
    if (rest_.empty() || IsIn(rest_[0], "\\\n")) return Effect::kUnknown;
    char delimiter = rest_[0];
    rest_.remove_prefix(1);
    if (!Past(delimiter) || !Past(delimiter)) return Effect::kUnknown;
    Skip("gpiImM0123456789");
    if (!rest_.empty() && rest_[0] == 'w') return SkipTo("\n"), Effect::kLocalChange;
    return End();
  }
  Effect End() {
    Skip(" \t");
    return rest_.empty() || IsIn(rest_[0], ";\n}") ? Effect::kReadOnly : Effect::kUnknown;
  }

  std::string_view rest_;
};

}  // namespace

Effect JudgeSedScript(std::string_view script) { return Sed(script).Judge(); }

Effect JudgeAwkProgram(std::string_view program) {
  for (std::string_view word : {"system", "getline", "@", "close", "printf(", "ENVIRON["}) {
    if (program.find(word) != program.npos) return Effect::kUnknown;
  }
  for (size_t i = 0; i < program.size(); ++i) {
    std::string_view two = program.substr(i, 2);
    if (two == "||" || two == ">=") {
      ++i;
    } else if (program[i] == '|' || program[i] == '>') {
      return Effect::kUnknown;
    }
  }
  return Effect::kReadOnly;
}

}  // namespace cordon::guard
