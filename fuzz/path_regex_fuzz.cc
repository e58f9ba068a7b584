// A glob as a regular expression: it compiles, and matches what the guard says.
#include <regex.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "backend/macos/path_regex.h"
#include "guard/path.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  size_t middle = text.find('\0');
  if (middle == std::string::npos) return 0;
  std::string pattern = "/" + text.substr(0, middle), path = "/" + text.substr(middle + 1);
  if (path.find('\0') != std::string::npos || pattern.size() > 64 || path.size() > 64) return 0;
  if (cordon::guard::NormalizePath(pattern) != pattern) return 0;
  if (cordon::guard::NormalizePath(path) != path) return 0;
  regex_t regex;
  std::string whole = "^(" + cordon::backend::RegexOfGlob(pattern) + ")$";
  if (regcomp(&regex, whole.c_str(), REG_EXTENDED | REG_NOSUB) != 0) abort();
  bool matches = regexec(&regex, path.c_str(), 0, nullptr, 0) == 0;
  regfree(&regex);
  if (matches != cordon::guard::GlobMatch(pattern, path)) abort();
  return 0;
}
