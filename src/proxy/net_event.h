// What the proxy decided, one event for each connection and each denied name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cordon/result.h"

namespace cordon::proxy {

enum class NetOperation { kConnect, kLookup };

struct NetEvent {
  NetOperation operation = NetOperation::kConnect;
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied or failed
  std::string host;                   // as decided on; escaped text of what could not be read
  std::string address;                // connected to, or the one that was denied
  int port = 0;
  std::string rule;
  std::string hint;
  std::string detail;  // "upstream refused the connection"
  uint64_t bytes_out = 0;
  uint64_t bytes_in = 0;
  uint64_t duration_ms = 0;
};

// Called on the proxy's thread, one call at a time; must not block.
using EventSink = std::function<void(NetEvent)>;

}  // namespace cordon::proxy
