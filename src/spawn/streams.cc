// Runs in: supervisor.
#include "spawn/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"

namespace cordon::spawn {
namespace {

constexpr size_t kChunk = 64 * 1024;
// A write of this size to a pipe that polls writable does not block.
constexpr size_t kSafeWrite = 4096;

}  // namespace

OutputStream::OutputStream(sys::UniqueFd source, int target, std::optional<uint64_t> limit)
    : source_(std::move(source)), target_(target), limit_(limit) {
  fcntl(source_.get(), F_SETFL, O_NONBLOCK);
}

pollfd OutputStream::Wanted() const {
  if (!pending_.empty()) return {target_, POLLOUT, 0};
  return {source_.get(), POLLIN, 0};  // poll ignores a negative descriptor
}

void OutputStream::Serve(short revents) {
  if (revents == 0) return;
  if (!pending_.empty()) return WriteOn();
  char buffer[kChunk];
  ssize_t got = read(source_.get(), buffer, sizeof(buffer));
  if (got > 0) {
    Take({buffer, static_cast<size_t>(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    source_.reset();
  }
}

void OutputStream::Take(std::string_view bytes) {
  if (truncated_) return;
  if (limit_ && passed_ + bytes.size() > *limit_) {
    // The cut is moved back to a character boundary, which may lie in what was
    // kept before; only the kept form can still be shortened.
    bytes = bytes.substr(0, *limit_ - passed_);
    truncated_ = true;
  }
  passed_ += bytes.size();
  if (target_ < 0) {
    kept_ += bytes;
    if (truncated_) kept_.resize(base::Utf8Prefix(kept_ + "\x80\x80\x80", kept_.size()).size());
    return;
  }
  pending_ +=
      truncated_ ? base::Utf8Prefix(std::string(bytes) + "\x80\x80\x80", bytes.size()) : bytes;
  if (truncated_) {
    pending_ += "\n[cordon: output cut after " + std::to_string(*limit_) + " bytes]\n";
  }
}

void OutputStream::WriteOn() {
  ssize_t written = write(target_, pending_.data(), std::min(pending_.size(), kSafeWrite));
  if (written > 0) {
    pending_.erase(0, static_cast<size_t>(written));
  } else if (errno != EAGAIN && errno != EINTR) {
    // Nobody reads any more: the command's output goes nowhere, as it would.
    pending_.clear();
    source_.reset();
  }
}

void OutputStream::Drain() {
  char buffer[kChunk];
  ssize_t got;
  while (source_.valid() && (got = read(source_.get(), buffer, sizeof(buffer))) > 0) {
    Take({buffer, static_cast<size_t>(got)});
  }
  source_.reset();
}

std::string OutputStream::TakeKept() { return std::move(kept_); }

}  // namespace cordon::spawn
