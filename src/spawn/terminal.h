// Runs in: supervisor. The caller's terminal on one side, the sandbox's own on
// the other.
#pragma once

#include <poll.h>
#include <termios.h>

#include <functional>
#include <optional>
#include <string>

#include "sys/fd.h"

namespace cordon::spawn {

// Bytes pass both ways untouched. While it lives the caller's terminal is raw;
// the destructor restores it.
class TerminalRelay {
 public:
  // `input`, `output`: the caller's ends, -1 where that one is not a terminal.
  // `signal`: sends a signal to the command, for a terminal that controls none.
  TerminalRelay(sys::UniqueFd master, int input, int output, std::function<void(int)> signal);
  ~TerminalRelay();
  TerminalRelay(const TerminalRelay&) = delete;
  TerminalRelay& operator=(const TerminalRelay&) = delete;

  pollfd WantedInput() const;
  pollfd WantedOutput() const;
  void ServeInput(short revents);
  void ServeOutput(short revents);
  void CopyWindowSize();
  void Drain();

 private:
  void SignalKeys(std::string_view keys);

  sys::UniqueFd master_;
  int input_;
  int output_;
  std::function<void(int)> signal_;
  std::optional<termios> before_;
};

}  // namespace cordon::spawn
