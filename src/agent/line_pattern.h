// A regular expression for lines of text: POSIX extended, with \d \w \s \b besides.
// Matching takes no more than time in proportion to the line; a pattern that could
// is refused.
#pragma once

#include <regex.h>

#include <memory>
#include <string>
#include <string_view>

#include "cordon/result.h"

namespace cordon::agent {

enum class Case { kSensitive, kInsensitive };

class LinePattern {
 public:
  static Result<LinePattern> Compile(std::string_view pattern, Case letters);
  // `line` has no newline.
  bool Matches(std::string_view line) const;

 private:
  struct Free {
    void operator()(regex_t* regex) const {
      regfree(regex);
      delete regex;
    }
  };
  std::unique_ptr<regex_t, Free> regex_;
};

}  // namespace cordon::agent
