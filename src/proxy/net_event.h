// What the proxy decided, one event for each connection and each name that was
// asked for.
#pragma once

#include <functional>

#include "audit/event.h"

namespace cordon::proxy {

using audit::NetEvent;
using audit::NetOperation;
using audit::Via;

// Called on the proxy's thread, one call at a time; must not block for long.
using EventSink = std::function<void(NetEvent)>;

}  // namespace cordon::proxy
