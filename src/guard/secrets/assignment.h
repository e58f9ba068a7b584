// "api_key = value", in the many ways to write it.
#pragma once

#include <optional>
#include <string_view>

namespace cordon::guard {

struct Assignment {
  std::string_view name;  // the whole of it, of which the keyword is a part
  size_t value = 0;       // where the value starts
  size_t value_end = 0;
  // With no operator in between, or on another line: only for names that say much.
  bool loose = false;
};

// The keyword is at [begin, end).
std::optional<Assignment> ParseAssignment(std::string_view text, size_t begin, size_t end);

}  // namespace cordon::guard
