// Runs in: supervisor.
#include "spawn/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

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
    Close();
  }
}

void OutputStream::Take(std::string_view bytes) {
  if (truncated_) return;
  std::string text = held_ + std::string(bytes);
  held_.clear();
  if (limit_ && passed_ + text.size() > *limit_) {
    text.resize(base::Utf8Prefix(text, *limit_ - passed_).size());
    truncated_ = true;
  } else if (limit_) {
    // The cut may still come in the middle of this character.
    size_t tail = base::IncompleteUtf8Tail(text);
    held_ = text.substr(text.size() - tail);
    text.resize(text.size() - tail);
  }
  Pass(text);
  if (truncated_ && target_ >= 0) {
    pending_ += "\n[cordon: output cut after " + std::to_string(*limit_) + " bytes]\n";
  }
}

void OutputStream::Pass(std::string_view text) {
  passed_ += text.size();
  (target_ < 0 ? kept_ : pending_) += text;
}

void OutputStream::Close() {
  source_.reset();
  Pass(std::exchange(held_, {}));
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
  if (source_.valid()) Close();
}

std::string OutputStream::TakeKept() { return std::move(kept_); }

}  // namespace cordon::spawn
