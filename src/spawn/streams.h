// Runs in: supervisor. Output of the command on its way to the caller.
#pragma once

#include <poll.h>

#include <optional>
#include <string>

#include "sys/fd.h"

namespace cordon::spawn {

// One stream of the command: read from a pipe, then kept or written on. Never
// blocks, whatever the two ends do; memory is bounded.
class OutputStream {
 public:
  // `target` < 0: keep. `limit`: bytes that pass, the rest is read and dropped.
  OutputStream(sys::UniqueFd source, int target, std::optional<uint64_t> limit);

  bool open() const { return source_.valid() || !pending_.empty(); }
  // What to poll for now, and what to do when it came.
  pollfd Wanted() const;
  void Serve(short revents);
  // After the command has ended: takes what is left in the pipe. Does not wait.
  void Drain();

  std::string TakeKept();
  bool truncated() const { return truncated_; }

 private:
  void Take(std::string_view bytes);
  void Pass(std::string_view text);
  void Close();
  void WriteOn();

  sys::UniqueFd source_;
  int target_;
  std::optional<uint64_t> limit_;
  uint64_t passed_ = 0;
  bool truncated_ = false;
  std::string held_;  // the beginning of a character
  std::string kept_;
  std::string pending_;
};

}  // namespace cordon::spawn
