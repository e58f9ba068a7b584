// Runs in: supervisor.
#include "spawn/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cordon::spawn {
namespace {

void WriteAll(int fd, const char* bytes, ssize_t size) {
  while (size > 0) {
    ssize_t written = write(fd, bytes, static_cast<size_t>(size));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    if (written > 0) {
      bytes += written;
      size -= written;
    }
  }
}

}  // namespace

TerminalRelay::TerminalRelay(sys::UniqueFd master, int input, int output,
                             std::function<void(int)> signal)
    : master_(std::move(master)), input_(input), output_(output), signal_(std::move(signal)) {
  CopyWindowSize();
  termios settings;
  // In the background the terminal is not ours to change.
  if (input_ < 0 || tcgetpgrp(input_) != getpgrp() || tcgetattr(input_, &settings) != 0) return;
  tcsetattr(master_.get(), TCSANOW, &settings);
  before_ = settings;
  cfmakeraw(&settings);
  tcsetattr(input_, TCSADRAIN, &settings);
}

TerminalRelay::~TerminalRelay() {
  if (before_) tcsetattr(input_, TCSADRAIN, &*before_);
}

pollfd TerminalRelay::WantedInput() const { return {input_, POLLIN, 0}; }
pollfd TerminalRelay::WantedOutput() const { return {master_.get(), POLLIN, 0}; }

void TerminalRelay::ServeInput(short revents) {
  if (revents == 0) return;
  char buffer[4096];
  ssize_t got = read(input_, buffer, sizeof(buffer));
  if (got > 0) {
    SignalKeys({buffer, static_cast<size_t>(got)});
    WriteAll(master_.get(), buffer, got);
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    input_ = -1;
  }
}

// A terminal that is nobody's controlling terminal signals nobody: the keys
// that mean a signal are watched for here.
void TerminalRelay::SignalKeys(std::string_view keys) {
  termios settings;
  if (!signal_ || tcgetattr(master_.get(), &settings) != 0 || (settings.c_lflag & ISIG) == 0) {
    return;
  }
  for (char key : keys) {
    auto code = static_cast<cc_t>(key);
    if (code == settings.c_cc[VINTR]) signal_(SIGINT);
    if (code == settings.c_cc[VQUIT]) signal_(SIGQUIT);
  }
}

void TerminalRelay::ServeOutput(short revents) {
  if (revents == 0) return;
  char buffer[16384];
  ssize_t got = read(master_.get(), buffer, sizeof(buffer));
  if (got > 0 && output_ >= 0) {
    WriteAll(output_, buffer, got);
  } else if (got <= 0 && errno != EINTR && errno != EAGAIN) {
    // EIO: the last process inside has closed its end. Others may open it
    // again, but none is left that could be waiting on us.
    master_.reset();
  }
}

void TerminalRelay::CopyWindowSize() {
  winsize size;
  int from = output_ >= 0 ? output_ : input_;
  if (from >= 0 && ioctl(from, TIOCGWINSZ, &size) == 0) ioctl(master_.get(), TIOCSWINSZ, &size);
}

void TerminalRelay::Drain() {
  if (!master_.valid()) return;
  fcntl(master_.get(), F_SETFL, O_NONBLOCK);
  char buffer[16384];
  ssize_t got;
  while ((got = read(master_.get(), buffer, sizeof(buffer))) > 0) {
    if (output_ >= 0) WriteAll(output_, buffer, got);
  }
}

}  // namespace cordon::spawn
