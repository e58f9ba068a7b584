// Finds exact values, also in base64 at any alignment, in hex and in URL-encoding.
//
// Every `stride` bytes four are looked up; a value that is there has one of its first
// four-byte groups at one of these places. So most of the text is never read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cordon::guard {

class KnownSecrets {
 public:
  static constexpr size_t kMinBytes = 8;

  struct Hit {
    size_t begin = 0;
    size_t end = 0;
    std::string_view name;
    std::string_view encoding;
  };

  // Values shorter than kMinBytes are not taken.
  void Add(std::string_view name, std::string_view value);
  bool empty() const { return forms_.empty(); }
  void Find(std::string_view text, const std::function<void(const Hit&)>& found) const;

 private:
  struct Form {
    std::string name;
    std::string_view encoding;
    std::string text;  // folded where the case of letters says nothing
    bool folded = false;
    bool wrappable = false;  // may be broken over lines
  };
  struct Place {
    uint32_t form = 0;
    uint32_t offset = 0;
  };

  void AddForm(Form form);
  void Index();
  bool Matches(const Form& form, std::string_view text, size_t at, size_t offset, size_t& begin,
               size_t& end) const;

  std::vector<Form> forms_;
  std::unordered_multimap<uint32_t, Place> places_;
  std::vector<uint64_t> seen_;  // a bit for each hash of a group
  size_t stride_ = 0;
};

}  // namespace cordon::guard
