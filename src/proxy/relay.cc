#include "proxy/relay.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

namespace cordon::proxy {
namespace {

constexpr size_t kSmall = 4096;
constexpr int kTurns = 16;  // of a busy stream, before others have theirs

enum class Step { kGoOn, kEnd, kBroken };

class Direction {
 public:
  Direction(Socket& from, Socket& to, RelayBuffers& buffers, Idle& idle, uint64_t& bytes)
      : from_(from), to_(to), buffers_(buffers), idle_(idle), bytes_(bytes) {}

  Task<void> Run() {
    Step step = Step::kGoOn;
    while (step == Step::kGoOn) {
      ReadResult got = co_await ReadSome(from_, small_);
      step = got.error ? Step::kBroken : got.bytes == 0 ? Step::kEnd : Step::kGoOn;
      if (step == Step::kGoOn) step = co_await Send({small_.data(), got.bytes});
      if (step == Step::kGoOn && got.bytes == small_.size()) step = co_await Rush();
    }
    if (step == Step::kEnd) {
      shutdown(to_.native_handle(), SHUT_WR);
      co_return;
    }
    Reset(from_);
    Reset(to_);
  }

 private:
  // More is waiting: large reads into what all share, for as long as there is.
  Task<Step> Rush() {
    for (int turn = 1;; ++turn) {
      std::span<char> buffer = buffers_.Take();
      ssize_t got = recv(from_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) co_return errno == EAGAIN ? Step::kGoOn : Step::kBroken;
      if (got == 0) co_return Step::kEnd;
      Step step = co_await Send({buffer.data(), static_cast<size_t>(got)});
      if (step != Step::kGoOn) co_return step;
      if (turn % kTurns == 0) co_await Yield();
    }
  }

  // `bytes` are not valid any more once this has waited.
  Task<Step> Send(std::string_view bytes) {
    idle_.Touch();
    bytes_ += bytes.size();
    ssize_t sent =
        send(to_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(bytes.size())) co_return Step::kGoOn;
    if (sent < 0 && errno != EAGAIN && errno != EINTR) co_return Step::kBroken;
    co_return co_await SendRest(
        std::string(bytes.substr(sent < 0 ? 0 : static_cast<size_t>(sent))));
  }

  Task<Step> SendRest(std::string rest) {
    buffers_.backlog += rest.size();
    ErrorCode failed = co_await WriteAll(to_, rest);
    buffers_.backlog -= rest.size();
    idle_.Touch();
    co_return failed ? Step::kBroken : Step::kGoOn;
  }

  Socket& from_;
  Socket& to_;
  RelayBuffers& buffers_;
  Idle& idle_;
  uint64_t& bytes_;
  std::array<char, kSmall> small_;
};

}  // namespace

std::span<char> RelayBuffers::Take() {
  if (!bytes_) bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
  return {bytes_.get(), backlog < kMaxBacklog ? kBytes : kSmall};
}

Task<void> Pump(Socket& from, Socket& to, RelayBuffers& buffers, Idle& idle, uint64_t& bytes) {
  Direction direction(from, to, buffers, idle, bytes);
  co_await direction.Run();
}

}  // namespace cordon::proxy
