// The decoder chain: findings lie inside the input and in order, however it is cut a known
// secret does not get through the redactor.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "guard/secrets/scanner.h"

using namespace cordon::guard;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kKnown = "known-secret-1";
  static const SecretRules kRules = *LoadSecretRules({.known = {{"K", kKnown}}});
  if (size < 1) return 0;
  size_t chunk = data[0] + 1U;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  uint64_t last = 0;
  for (const SecretFinding& found : FindSecrets(kRules, text)) {
    if (found.begin < last || found.end <= found.begin || found.end > text.size()) abort();
    last = found.end;
  }
  SecretRedactor redactor(kRules);
  std::string out;
  for (size_t at = 0; at < text.size(); at += chunk) out += redactor.Feed(text.substr(at, chunk));
  out += redactor.Finish();
  if (out.find(kKnown) != std::string::npos) abort();
  return 0;
}
