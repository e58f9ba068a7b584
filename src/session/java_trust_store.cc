#include "session/java_trust_store.h"

#include <cstdint>
#include <optional>

#include "base/base64.h"

namespace cordon::session {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
constexpr uint32_t kMagic = 0xfeedfeed;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kTrustedCertificate = 2;
constexpr size_t kDigestSize = 20;

void AppendNumber(std::string& store, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    store.push_back(static_cast<char>(value >> shift));
  }
}

void AppendText(std::string& store, std::string_view text) {
  AppendNumber(store, text.size(), 2);
  store += text;
}

std::optional<std::string> Decode(std::string_view lines) {
  std::string text;
  for (char c : lines) {
    if (c != '\n' && c != '\r' && c != ' ') text.push_back(c);
  }
  return base::FromBase64(text);
}

void AppendCertificate(std::string& store, uint32_t number, std::string_view der) {
  AppendNumber(store, kTrustedCertificate, 4);
  AppendText(store, "cordon:" + std::to_string(number));
  AppendNumber(store, 0, 8);  // when it was made
  AppendText(store, "X.509");
  AppendNumber(store, der.size(), 4);
  store += der;
}

}  // namespace

std::string JavaTrustStore(std::string_view bundle) {
  std::string certificates;
  uint32_t count = 0;
  for (size_t at = bundle.find(kBegin); at != bundle.npos; at = bundle.find(kBegin, at)) {
    at += kBegin.size();
    size_t end = bundle.find(kEnd, at);
    if (end == bundle.npos) break;
    if (auto der = Decode(bundle.substr(at, end - at)))
      AppendCertificate(certificates, ++count, *der);
  }
  std::string store;
  AppendNumber(store, kMagic, 4);
  AppendNumber(store, kVersion, 4);
  AppendNumber(store, count, 4);
  return store + certificates + std::string(kDigestSize, '\0');
}

}  // namespace cordon::session
