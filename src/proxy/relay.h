// Bytes from one socket to another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "proxy/async.h"

namespace cordon::proxy {

// What all relays of the thread share. Memory is bounded whatever clients do:
// idle directions hold a few kilobytes, stalled ones what `kMaxBacklog` allows
// to all of them together and a few kilobytes beyond.
class RelayBuffers {
 public:
  static constexpr size_t kBytes = 256 * 1024;
  static constexpr size_t kMaxBacklog = 32 * 1024 * 1024;

  std::span<char> Take();
  size_t backlog = 0;  // bytes read but not taken by their receiver yet

 private:
  std::unique_ptr<char[]> bytes_;
};

// When a connection was last of use; one for both directions.
struct Idle {
  Clock::duration most{};
  Clock::time_point deadline{};
  void Touch() { deadline = Clock::now() + most; }
};

// Until the end of `from`, which is passed on to `to` as an end; after an
// error both are reset. Counts into `bytes`.
Task<void> Pump(Socket& from, Socket& to, RelayBuffers& buffers, Idle& idle, uint64_t& bytes);

}  // namespace cordon::proxy
