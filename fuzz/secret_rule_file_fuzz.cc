// Whatever a rule file says: an error, or rules that can be used.
#include <cstddef>
#include <cstdint>
#include <string>

#include "guard/secrets/scanner.h"

using namespace cordon::guard;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SecretRuleSources sources{.defaults = SecretRuleSources::Defaults::kWithout};
  sources.files.push_back({"fuzz.toml", std::string(reinterpret_cast<const char*>(data), size)});
  cordon::Result<SecretRules> rules = LoadSecretRules(sources);
  if (rules) FindSecrets(*rules, "acme_key = abc12345 zz123456", {.path = "a.conf"});
  return 0;
}
