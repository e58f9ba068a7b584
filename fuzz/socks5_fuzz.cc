// A request never reads beyond its bytes, nor changes its mind when more come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proxy/socks5.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cordon::proxy;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (size_t length = 0; length <= size && length < 600; ++length) {
    std::string part(text.substr(0, length));
    SocksRequest request = ParseSocksRequest(part);
    if (request.state != SocksState::kNeedMore && request != ParseSocksRequest(text)) abort();
    if (request.state == SocksState::kComplete && request.size != length) abort();
    if (request.state != SocksState::kNeedMore) break;
  }
  SocksGreeting greeting = ParseSocksGreeting(text);
  if (greeting.state == SocksState::kComplete && greeting.size > size) abort();
  return 0;
}
