// What is printed of a hostile name is clean, and no cut leaves half a character.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/strings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string printable = cordon::base::Printable(text);
  if (!cordon::base::IsValidUtf8(printable)) abort();
  for (char c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) abort();
  }
  if (cordon::base::IsValidUtf8(text)) {
    for (size_t limit = 0; limit < size; ++limit) {
      if (!cordon::base::IsValidUtf8(cordon::base::Utf8Prefix(text, limit))) abort();
    }
  }
  return 0;
}
