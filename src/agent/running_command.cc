#include "agent/running_command.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "base/error.h"
#include "sys/signals.h"

namespace cordon::agent {
namespace {

constexpr std::chrono::seconds kQuiet{5};
constexpr int kLookEveryMs = 500;
constexpr size_t kLatest = 1000;

constexpr std::array<std::string_view, 20> kPrompts = {
    "[y/n",
    "(y/n",
    "y/n]",
    "y/n)",
    "[yes/no",
    "(yes/no",
    "yes/no)",
    "press enter",
    "press any key",
    "enter to continue",
    "are you sure",
    "continue?",
    "want to continue",
    "password:",
    "password for",
    "passphrase",
    "username:",
    "username for",
    "accept?",
    "overwrite?",
};

Status MakePipe(sys::UniqueFd& read_end, sys::UniqueFd& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno);
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {};
}

}  // namespace

bool LooksLikePrompt(std::string_view line) {
  std::string lower(line);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      kPrompts, [&](std::string_view prompt) { return lower.find(prompt) != lower.npos; });
}

RunningCommand::RunningCommand(const LeakGuard* leaks) : leaks_(leaks) {
  if (leaks == nullptr) return;
  out_redactor_.emplace(leaks->rules());
  err_redactor_.emplace(leaks->rules());
}

Result<std::shared_ptr<RunningCommand>> RunningCommand::Start(session::Request request,
                                                              const LeakGuard* leaks) {
  std::shared_ptr<RunningCommand> command(new RunningCommand(leaks));
  command->null_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!command->null_.valid()) return base::SystemError("open /dev/null", errno);
  if (command->cancellation_.fd() < 0) return base::SystemError("eventfd", EMFILE);
  CORDON_TRY(MakePipe(command->out_read_, command->out_write_));
  CORDON_TRY(MakePipe(command->err_read_, command->err_write_));
  sys::SignalsBlocked blocked;  // signals are for the program's own threads
  RunningCommand* self = command.get();
  try {
    command->pump_ = std::thread([self] { self->Pump(); });
    command->runner_ = std::thread([self, request = std::move(request)] { self->Run(request); });
  } catch (const std::exception&) {
    return base::SystemError("start a thread", EAGAIN);
  }
  return command;
}

RunningCommand::~RunningCommand() {
  Cancel();
  if (runner_.joinable()) {
    runner_.join();
  } else {
    out_write_.reset();  // lets the pump end
    err_write_.reset();
  }
  if (pump_.joinable()) pump_.join();
}

void RunningCommand::Run(const session::Request& request) {
  Result<Outcome> outcome = base::SystemError("run", ENOMEM);
  try {
    outcome =
        session::RunOnce(request, {.streams = {null_.get(), out_write_.get(), err_write_.get()},
                                   .output = spawn::OutputMode::kPass,
                                   .cancel_fd = cancellation_.fd()});
  } catch (const std::exception& error) {
    outcome = Error{.message = error.what()};
  }
  out_write_.reset();
  err_write_.reset();
  std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
  run_ended_ = true;
  changed_.notify_all();
}

void RunningCommand::Pump() {
  while (out_read_.valid() || err_read_.valid()) {
    pollfd watched[] = {{out_read_.get(), POLLIN, 0}, {err_read_.get(), POLLIN, 0}};
    if (poll(watched, 2, kLookEveryMs) < 0 && errno != EINTR) break;
    if (watched[0].revents != 0) Read(Stream::kOut, out_read_);
    if (watched[1].revents != 0) Read(Stream::kErr, err_read_);
    Watch();
  }
  std::lock_guard lock(mutex_);
  pump_ended_ = true;
  changed_.notify_all();
}

void RunningCommand::Read(Stream stream, sys::UniqueFd& from) {
  std::array<char, 64 * 1024> buffer;
  ssize_t got = read(from.get(), buffer.data(), buffer.size());
  if (got > 0) {
    Take(stream, {buffer.data(), static_cast<size_t>(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    from.reset();
    Finish(stream);
  }
}

// What is held back may be the beginning of a secret; a prompt is told by the bytes.
void RunningCommand::Take(Stream stream, std::string_view bytes) {
  std::lock_guard lock(mutex_);
  bool out = stream == Stream::kOut;
  std::optional<guard::SecretRedactor>& redactor = out ? out_redactor_ : err_redactor_;
  if (latest_ != stream) latest_bytes_.clear();
  latest_bytes_ += bytes.substr(bytes.size() - std::min(bytes.size(), kLatest));
  if (latest_bytes_.size() > 2 * kLatest) latest_bytes_.erase(0, latest_bytes_.size() - kLatest);
  (out ? out_ : err_).Add(redactor ? redactor->Feed(bytes) : std::string(bytes));
  latest_ = stream;
  wrote_ = Clock::now();
  bool found = redactor && !redactor->findings().empty();
  if (found && leaks_->on_leak() == OnLeak::kTerminate) Cancel();
}

void RunningCommand::Finish(Stream stream) {
  std::lock_guard lock(mutex_);
  bool out = stream == Stream::kOut;
  std::optional<guard::SecretRedactor>& redactor = out ? out_redactor_ : err_redactor_;
  if (redactor) (out ? out_ : err_).Add(redactor->Finish());
}

std::vector<std::string> RunningCommand::Leaks() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> rules;
  for (const auto* redactor : {&out_redactor_, &err_redactor_}) {
    if (!*redactor) continue;
    for (const guard::SecretFinding& found : (*redactor)->findings()) rules.push_back(found.rule);
  }
  return rules;
}

void RunningCommand::Watch() {
  std::lock_guard lock(mutex_);
  if (waited_for_input_ || run_ended_ || Clock::now() - wrote_ < kQuiet) return;
  OutputRecord latest;
  latest.Add(latest_bytes_);
  if (!LooksLikePrompt(latest.LastLine())) return;
  waited_for_input_ = true;
  Cancel();
}

bool RunningCommand::WaitUntil(Clock::time_point when) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, when, [&] { return run_ended_ && pump_ended_; });
}

bool RunningCommand::waited_for_input() const {
  std::lock_guard lock(mutex_);
  return waited_for_input_;
}

ShownOutput RunningCommand::Show(Stream stream, size_t limit, std::string_view whole) const {
  std::lock_guard lock(mutex_);
  return Record(stream).Show(limit, whole);
}

OutputRecord::Part RunningCommand::From(Stream stream, uint64_t offset, size_t limit) const {
  std::lock_guard lock(mutex_);
  return Record(stream).From(offset, limit);
}

uint64_t RunningCommand::Written() const {
  std::lock_guard lock(mutex_);
  return out_.total() + err_.total();
}

std::string RunningCommand::LastLine() const {
  std::lock_guard lock(mutex_);
  return Record(latest_).LastLine();
}

}  // namespace cordon::agent
