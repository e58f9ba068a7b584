// Runs in: supervisor. Builds for tests can leave single layers out, to show
// that some attack then gets through: CORDON_TEST_WITHOUT=landlock,net. A
// release has no such switch.
#pragma once

#include <string_view>

#ifdef CORDON_TEST_HOOKS
#include <cstdlib>
#endif

namespace cordon::backend {

#ifdef CORDON_TEST_HOOKS
inline bool TestHookOff(std::string_view layer) {
  const char* without = std::getenv("CORDON_TEST_WITHOUT");
  return without != nullptr && std::string_view(without).find(layer) != std::string_view::npos;
}
#else
constexpr bool TestHookOff(std::string_view) { return false; }
#endif

}  // namespace cordon::backend
