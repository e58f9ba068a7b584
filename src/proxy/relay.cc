#include "proxy/relay.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace cordon::proxy {
namespace {

constexpr size_t kSmall = 4096;
constexpr size_t kBulk = 32 * 1024;
constexpr int kTurns = 16;  // of a busy stream, before others have theirs

enum class Step { kGoOn, kEnd, kBroken };

class Direction {
 public:
  Direction(Socket& from, Socket& to, RelayBuffers& buffers, Idle& idle, uint64_t& bytes)
      : from_(from), to_(to), buffers_(buffers), idle_(idle), bytes_(bytes) {}

  Task<void> Run() {
    Step step = Step::kGoOn;
    while (step == Step::kGoOn) {
      if (bulk_) {
        ErrorCode failed = co_await WaitReady(from_, Ready::kRead);
        if (failed) break;
      } else {
        ReadResult got = co_await ReadSome(from_, small_);
        step = got.error ? Step::kBroken : got.bytes == 0 ? Step::kEnd : Step::kGoOn;
        if (step == Step::kGoOn) step = co_await Send({small_.data(), got.bytes});
        if (step != Step::kGoOn || got.bytes < small_.size()) continue;
      }
      if (bulk_ && HasPipe()) {
        step = co_await Splice();
      } else {
        step = co_await Rush();
      }
    }
    if (pipe_.in.valid()) buffers_.DropPipe(std::move(pipe_));
    if (step == Step::kEnd) {
      EndDirection(to_, idle_);
      co_return;
    }
    Reset(from_);
    Reset(to_);
  }

 private:
  // More is waiting: large reads into what all share, for as long as there is.
  // A stream that fills them is bulk, and the next wait is for another rush.
  Task<Step> Rush() {
    bulk_ = false;
    for (int turn = 1;; ++turn) {
      std::span<char> buffer = buffers_.Take();
      ssize_t got = recv(from_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) co_return errno == EAGAIN ? Step::kGoOn : Step::kBroken;
      if (got == 0) co_return Step::kEnd;
      bulk_ = bulk_ || static_cast<size_t>(got) >= kBulk;
      Step step = co_await Send({buffer.data(), static_cast<size_t>(got)});
      if (step != Step::kGoOn) co_return step;
      if (bulk_ && HasPipe()) co_return Step::kGoOn;
      if (turn % kTurns == 0) co_await Yield();
    }
  }

  bool HasPipe() {
    if (!pipe_.in.valid()) pipe_ = buffers_.TakePipe();
    return pipe_.in.valid();
  }

  // The same through a pipe, which is empty before and after.
  Task<Step> Splice() {
    bulk_ = false;
    for (int turn = 1;; ++turn) {
      ssize_t got = splice(from_.native_handle(), nullptr, pipe_.in.get(), nullptr,
                           RelayBuffers::kPipeBytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno != EAGAIN) co_return Step::kBroken;
      if (got == 0) co_return Step::kEnd;
      if (got < 0) break;
      bulk_ = bulk_ || static_cast<size_t>(got) >= kBulk;
      Step step = co_await Drain(static_cast<size_t>(got));
      if (step != Step::kGoOn) co_return step;
      if (turn % kTurns == 0) co_await Yield();
    }
    if (!bulk_) buffers_.GivePipe(std::move(pipe_));
    co_return Step::kGoOn;
  }

  Task<Step> Drain(size_t left) {
    idle_.Touch();
    bytes_ += left;
    while (left > 0) {
      ssize_t sent = splice(pipe_.out.get(), nullptr, to_.native_handle(), nullptr, left,
                            SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (sent > 0) left -= static_cast<size_t>(sent);
      if (sent > 0 || (sent < 0 && errno == EINTR)) continue;
      if (sent == 0 || errno != EAGAIN) co_return Step::kBroken;
      ErrorCode failed = co_await WaitReady(to_, Ready::kWrite);
      if (failed) co_return Step::kBroken;
      idle_.Touch();
    }
    co_return Step::kGoOn;
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
  bool bulk_ = false;
  SplicePipe pipe_;
  std::array<char, kSmall> small_;
};

}  // namespace

void EndDirection(Socket& to, Idle& idle) {
  if (!std::exchange(idle.half_closed, true)) shutdown(to.native_handle(), SHUT_WR);
}

std::span<char> RelayBuffers::Take() {
  if (!bytes_) bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
  return {bytes_.get(), backlog < kMaxBacklog ? kBytes : kSmall};
}

SplicePipe RelayBuffers::TakePipe() {
  if (pipes_in_use_ >= kMaxPipes) return {};
  SplicePipe pipe = std::move(spare_);
  int ends[2];
  if (!pipe.in.valid()) {
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return {};
    pipe = {sys::UniqueFd(ends[1]), sys::UniqueFd(ends[0])};
    fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // smaller is only slower
  }
  ++pipes_in_use_;
  return pipe;
}

void RelayBuffers::GivePipe(SplicePipe pipe) {
  --pipes_in_use_;
  if (!spare_.in.valid()) spare_ = std::move(pipe);
}

void RelayBuffers::DropPipe(SplicePipe pipe) {
  --pipes_in_use_;
  pipe = {};
}

Task<void> Pump(Socket& from, Socket& to, RelayBuffers& buffers, Idle& idle, uint64_t& bytes) {
  Direction direction(from, to, buffers, idle, bytes);
  co_await direction.Run();
}

}  // namespace cordon::proxy
