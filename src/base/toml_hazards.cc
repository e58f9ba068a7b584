#include "base/toml_hazards.h"

#include <algorithm>
#include <string>

namespace cordon::base {
namespace {

class TomlHazards {
 public:
  explicit TomlHazards(std::string_view text) : text_(text) {}

  // Empty if there is none.
  std::string_view Find() {
    while (at_ < text_.size()) {
      Step(text_[at_]);
      if (depth_ > kMaxTomlDepth || dots_ > kMaxTomlDepth) return "nested too deeply";
      if (digits_ > kMaxBinaryDigits) return "a binary number is too long";
    }
    return {};
  }

 private:
  void Step(char c) {
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (c == '"' || c == '\'') return SkipString(c);
    if (c == '[' || c == '{') ++depth_;
    if (c == ']' || c == '}') --depth_;
    if (c == '.') ++dots_;
    if (c == '\n') dots_ = 0;
    digits_ = c == '0' || c == '1' || c == '_' ? digits_ + 1 : 0;
    ++at_;
  }

  static constexpr int kMaxBinaryDigits = 60;

  void SkipString(char quote) {
    std::string triple(3, quote);
    bool long_string = text_.substr(at_).starts_with(triple);
    std::string_view end = long_string ? std::string_view(triple) : std::string_view(&quote, 1);
    at_ += end.size();
    while (at_ < text_.size() && !text_.substr(at_).starts_with(end)) {
      at_ += quote == '"' && text_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + end.size(), text_.size());
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  int dots_ = 0;
  int digits_ = 0;  // 0, 1 and _ in a row
};

}  // namespace

std::string_view FindTomlHazard(std::string_view text) { return TomlHazards(text).Find(); }

}  // namespace cordon::base
