// Bytes from one socket to another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "proxy/async.h"
#include "sys/fd.h"

namespace cordon::proxy {

// A pipe that bytes go through without being copied.
struct SplicePipe {
  sys::UniqueFd in;
  sys::UniqueFd out;
};

// What all relays of the thread share. Memory is bounded whatever clients do:
// idle directions hold a few kilobytes, stalled ones what `kMaxBacklog` and
// `kMaxPipes` allow to all of them together and a few kilobytes beyond.
class RelayBuffers {
 public:
  static constexpr size_t kBytes = 256 * 1024;
  static constexpr size_t kMaxBacklog = 32 * 1024 * 1024;
  static constexpr size_t kMaxPipes = 64;
  static constexpr size_t kPipeBytes = 512 * 1024;

  std::span<char> Take();
  size_t backlog = 0;  // bytes read but not taken by their receiver yet

  // Not valid when there are enough of them in use, or none can be made. Given back
  // empty, or dropped by DropPipe.
  SplicePipe TakePipe();
  void GivePipe(SplicePipe pipe);
  void DropPipe(SplicePipe pipe);

 private:
  std::unique_ptr<char[]> bytes_;
  size_t pipes_in_use_ = 0;
  SplicePipe spare_;
};

// When a connection was last of use; one for both directions.
struct Idle {
  Clock::duration most{};
  Clock::time_point deadline{};
  bool half_closed = false;  // one of the directions has ended
  void Touch() { deadline = Clock::now() + most; }
};

// Passes the end of a direction on to `to`. Nothing is done for the second one:
// closing both sockets, which is next, says the same.
void EndDirection(Socket& to, Idle& idle);

// Until the end of `from`, which is passed on to `to` as an end; after an
// error both are reset. Counts into `bytes`.
Task<void> Pump(Socket& from, Socket& to, RelayBuffers& buffers, Idle& idle, uint64_t& bytes);

}  // namespace cordon::proxy
