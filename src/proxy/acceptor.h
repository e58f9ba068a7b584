// Takes connections off a listening socket.
#pragma once

#include <functional>

#include "cordon/result.h"
#include "proxy/async.h"

namespace cordon::proxy {

// Accepts until the executor's context ends. When descriptors run out it waits a
// little before it goes on, and leaves clients in the queue.
Status Accept(const Executor& executor, sys::UniqueFd listener,
              std::function<void(Socket)> on_client);

}  // namespace cordon::proxy
