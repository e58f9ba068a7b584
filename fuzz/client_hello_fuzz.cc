// A hello reads the same however it comes in: no prefix of it says anything but
// "more", and what follows its record changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "proxy/client_hello.h"

using cordon::proxy::HelloReading;
using cordon::proxy::HelloState;
using cordon::proxy::ReadClientHello;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const HelloReading whole = ReadClientHello(bytes);
  if (whole.state == HelloState::kNeedMore && size >= cordon::proxy::kMaxHelloBytes) abort();
  if (whole.state == HelloState::kMalformed && whole.problem.empty()) abort();
  if (whole.hello.sni && whole.hello.sni->empty()) abort();

  bool decided = false;
  for (size_t part = 0; part < size; part += 1 + size / 64) {
    const HelloReading early = ReadClientHello(bytes.first(part));
    if (early.state == HelloState::kNeedMore) {
      if (decided) abort();
      continue;
    }
    decided = true;
    if (early.state != whole.state || early.hello != whole.hello) abort();
  }
  return 0;
}
