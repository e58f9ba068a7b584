// Runs in: supervisor. Builds for tests can leave single layers out, to show
// that some attack then gets through: CORDON_TEST_WITHOUT=landlock,net. A
// release has no such switch. session/without.h has the list; a layer that is
// part of a plan or a child spec is left out of that value.
#pragma once

#include <string_view>

#ifdef CORDON_TEST_HOOKS
#include <cstdlib>
#endif

namespace cordon::backend {

#ifdef CORDON_TEST_HOOKS
inline bool TestHookOff(std::string_view layer) {
  const char* variable = std::getenv("CORDON_TEST_WITHOUT");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    std::string_view first = rest.substr(0, rest.find(','));
    if (first == layer) return true;
    rest.remove_prefix(first.size() == rest.size() ? rest.size() : first.size() + 1);
  }
  return false;
}
#else
constexpr bool TestHookOff(std::string_view) { return false; }
#endif

}  // namespace cordon::backend
