// A command that runs inside: its output as it comes, and how it ended. It ends at
// the latest with this object.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/leak_guard.h"
#include "agent/output_record.h"
#include "cordon/outcome.h"
#include "cordon/sandbox.h"
#include "session/session.h"
#include "sys/fd.h"

namespace cordon::agent {

enum class Stream { kOut, kErr };

class RunningCommand {
 public:
  using Clock = std::chrono::steady_clock;

  // What `leaks` finds in its output is replaced as it comes, or ends the command where the
  // policy says terminate. `leaks` may be null, and outlives the command.
  static Result<std::shared_ptr<RunningCommand>> Start(session::Request request,
                                                       const LeakGuard* leaks);
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // Whether it has ended by then.
  bool WaitUntil(Clock::time_point when);
  void Cancel() { cancellation_.Cancel(); }

  // After the end: how. An error means that it never ran.
  const std::optional<Result<Outcome>>& outcome() const { return outcome_; }
  // Ended by us because it waited for an answer that nobody gives.
  bool waited_for_input() const;

  // The rules that found a secret so far.
  std::vector<std::string> Leaks() const;

  ShownOutput Show(Stream stream, size_t limit, std::string_view whole) const;
  OutputRecord::Part From(Stream stream, uint64_t offset, size_t limit) const;
  uint64_t Written() const;  // by both streams
  std::string LastLine() const;

 private:
  explicit RunningCommand(const LeakGuard* leaks);
  void Run(const session::Request& request);
  void Pump();
  void Read(Stream stream, sys::UniqueFd& from);
  void Take(Stream stream, std::string_view bytes);
  void Finish(Stream stream);
  void Watch();
  const OutputRecord& Record(Stream stream) const { return stream == Stream::kOut ? out_ : err_; }

  Cancellation cancellation_;
  sys::UniqueFd null_;
  sys::UniqueFd out_read_, out_write_, err_read_, err_write_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const LeakGuard* leaks_;
  std::optional<guard::SecretRedactor> out_redactor_, err_redactor_;
  std::string latest_bytes_;  // the last ones, as they came; these are guarded by mutex_
  OutputRecord out_, err_;
  Stream latest_ = Stream::kOut;  // that wrote
  Clock::time_point wrote_ = Clock::now();
  bool waited_for_input_ = false;
  bool run_ended_ = false;
  bool pump_ended_ = false;
  std::optional<Result<Outcome>> outcome_;  // written once, before run_ended_
  std::thread runner_, pump_;
};

// Whether the line asks a person for something.
bool LooksLikePrompt(std::string_view line);

}  // namespace cordon::agent
