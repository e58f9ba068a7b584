// Bytes into lines, of bounded length.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon::mcp {

// A longer line is no message.
inline constexpr size_t kLongestLine = size_t{32} << 20;

class LineReader {
 public:
  // Calls `take` for each whole line that is not blank; for one that was too long with
  // nothing.
  template <typename Take>
  void Add(std::string_view bytes, const Take& take) {
    while (!bytes.empty()) {
      size_t end = bytes.find('\n');
      if (!too_long_) line_ += bytes.substr(0, end);
      if (line_.size() > kLongestLine) {
        too_long_ = true;
        line_ = {};
      }
      if (end == bytes.npos) return;
      bytes.remove_prefix(end + 1);
      if (line_.ends_with('\r')) line_.pop_back();
      if (too_long_) {
        take(std::optional<std::string_view>());
      } else if (line_.find_first_not_of(" \t") != line_.npos) {
        take(std::optional<std::string_view>(line_));
      }
      line_.clear();
      too_long_ = false;
    }
  }

 private:
  std::string line_;
  bool too_long_ = false;
};

}  // namespace cordon::mcp
