// Runs in: supervisor.
#include "spawn/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "backend/init_protocol.h"
#include "backend/test_hooks.h"
#include "base/error.h"
#include "base/strings.h"
#include "spawn/broker.h"
#include "spawn/mount_keeper.h"
#include "spawn/process_tree.h"
#include "spawn/streams.h"
#include "spawn/temp_watch.h"
#include "spawn/terminal.h"
#include "spawn/tree_watch.h"

namespace cordon::spawn {
namespace {

using backend::Report;
using backend::ReportKind;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Between "please end" and "end".
constexpr milliseconds kGrace{2000};
constexpr milliseconds kNamesInterval{50};
constexpr uint64_t kCaptureLimit = 1 << 20;

class Run {
 public:
  Run(const plan::Plan& plan, const backend::ChildSpec& spec, Clone& clone,
      const SuperviseOptions& options)
      : plan_(plan),
        spec_(spec),
        clone_(clone),
        options_(options),
        began_(Clock::now()),
        temp_(plan.private_directory, plan.fs.temp_size) {}

  Result<Outcome> Go() {
    CORDON_TRY(Start());
    Loop();
    return Conclude();
  }

 private:
  Status Start() {
    Streams streams = options_.streams;
    sys::UniqueFd out, err;
    if (options_.output != OutputMode::kPass) {
      CORDON_TRY(MakeOutput(out_, out, options_.streams.out));
      CORDON_TRY(MakeOutput(err_, err, options_.streams.err));
      streams.out = out.get();
      streams.err = err.get();
    }
    CORDON_ASSIGN_OR_RETURN(launched_, Launch(clone_, spec_, streams, options_.cgroup.entries));
    if (options_.self == SelfProtection::kSealed) SealSelf();
    if (options_.on_launch) options_.on_launch(launched_.pid);
    if (options_.on_sockets) {
      Status taken = options_.on_sockets(std::move(launched_.sockets), launched_.pidfd.get());
      if (!taken) {
        Kill();
        Reap();
        return std::move(taken).error();
      }
    }
    if (plan_.bubblewrap.setuid) {
      temp_.WatchMounts(launched_.root.get(), {"tmp", "var/tmp", "dev/shm"});
    }
    watch_.emplace(launched_.root.get(), plan_, InsideProc() ? 1 : launched_.pid);
    if (launched_.listener.valid()) {
      sys::UniqueFd root = std::move(launched_.root);
      Result<std::unique_ptr<Broker>> broker = Broker::Start(
          std::move(launched_.listener), std::move(root), {launched_.pid, launched_.pidfd.get()},
          plan_, {options_.on_violation, options_.before_connect});
      if (!broker) {
        Kill();
        Reap();
        return std::move(broker).error();
      }
      broker_ = std::move(*broker);
      if (Namespaces() && !backend::TestHookOff("keeper")) CORDON_TRY(StartKeeper());
    }
    if (launched_.terminal.valid()) MakeTerminal();
    if (plan_.limits.wall_ms) deadline_ = began_ + milliseconds(*plan_.limits.wall_ms);
    Signal(backend::kCommandGroup, 0);  // lets it start
    started_ = true;
    return {};
  }

  Status StartKeeper() {
    keeper_.emplace(plan_.fs, launched_.pid, launched_.pidfd.get());
    // A run that is over already needs no keeping. What ends lets go of its
    // mounts a little before it is seen to have ended.
    pollfd ended{launched_.pidfd.get(), POLLIN, 0};
    if (keeper_->working() || poll(&ended, 1, static_cast<int>(kGrace.count())) != 0) return {};
    Kill();
    Reap();
    return base::SystemError("watch the sandbox's mounts", EMFILE, Reason::kSetupFailed);
  }

  // Not before the launch: the child needs its files in /proc to be its own,
  // and the last capability of a root that could not become someone else.
  static void SealSelf() {
    prctl(PR_SET_DUMPABLE, 0);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    syscall(SYS_capset, &header, none);
  }

  Status MakeOutput(std::optional<OutputStream>& stream, sys::UniqueFd& write_end, int target) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno, Reason::kSetupFailed);
    write_end.reset(fds[1]);
    bool capture = options_.output == OutputMode::kCapture;
    std::optional<uint64_t> limit = plan_.limits.output;
    if (capture && !limit) limit = kCaptureLimit;
    stream.emplace(sys::UniqueFd(fds[0]), capture ? -1 : target, limit);
    return {};
  }

  void MakeTerminal() {
    auto end = [&](int stream, int fd) {
      return (plan_.terminal_streams & (1u << stream)) != 0 ? fd : -1;
    };
    int output = end(1, options_.streams.out);
    if (output < 0) output = end(2, options_.streams.err);
    std::function<void(int)> signal;
    if (plan_.terminal == plan::Terminal::kStreams) {
      signal = [this](int number) { Signal(backend::kCommandGroup, number); };
    }
    terminal_.emplace(std::move(launched_.terminal), end(0, options_.streams.in), output, signal);
  }

  void Signal(int32_t target, int number) {
    backend::Control control{target, number};
    static_cast<void>(!write(launched_.control.get(), &control, sizeof(control)));
  }

  bool Namespaces() const { return host::HasNamespaces(plan_.backend); }

  // Whether processes are known by their numbers inside.
  bool InsideProc() const { return Namespaces() && plan_.bubblewrap.proc; }

  // With the first process of a pid namespace all of it ends. Elsewhere init has to
  // end the others before itself, which it does when it hears no more.
  void Kill() {
    if (Namespaces() || !started_) {
      syscall(SYS_pidfd_send_signal, launched_.pidfd.get(), SIGKILL, nullptr, 0);
    } else {
      launched_.control.reset();
    }
  }

  void Reap() {
    while (waitpid(launched_.child, nullptr, 0) < 0 && errno == EINTR) {
    }
    // Where that is bubblewrap, it may have been ended before the sandbox.
    pollfd ended{launched_.pidfd.get(), POLLIN, 0};
    while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
    }
  }

  // Asks the whole tree to end, and makes it a little later.
  void End(OutcomeKind kind, Reason reason) {
    if (ending_) return;
    ending_ = std::pair(kind, reason);
    Signal(backend::kEveryone, SIGTERM);
    kill_at_ = Clock::now() + kGrace;
  }

  int Timeout() const {
    std::optional<Clock::time_point> next = kill_at_ ? kill_at_ : deadline_;
    if (watch_->needed()) {
      Clock::time_point sample = Clock::now() + watch_->interval();
      next = next ? std::min(*next, sample) : sample;
    }
    if (keeper_) {
      Clock::time_point look = Clock::now() + kNamesInterval;
      next = next ? std::min(*next, look) : look;
    }
    if (temp_.needed()) next = next ? std::min(*next, temp_at_) : temp_at_;
    if (!next) return -1;
    auto left = std::chrono::ceil<milliseconds>(*next - Clock::now()).count();
    return static_cast<int>(std::clamp<long>(left, 0, 1 << 30));
  }

  void CheckTime() {
    Clock::time_point now = Clock::now();
    if (keeper_ && now >= look_at_) {
      look_at_ = now + kNamesInterval;
      if (!keeper_->Look()) LoseProtection();
    }
    if (kill_at_ && now >= *kill_at_) {
      Kill();
      kill_at_.reset();
      deadline_.reset();
    } else if (!ending_ && deadline_ && now >= *deadline_) {
      End(OutcomeKind::kTimedOut, Reason::kTimedOut);
    } else if (!ending_ && temp_.needed() && now >= temp_at_ && temp_.Exceeded()) {
      ending_ = std::pair(OutcomeKind::kLimit, Reason::kDiskLimit);
      Kill();
    } else if (!ending_ && watch_->needed()) {
      CheckLimits(now);
    }
    if (now >= temp_at_) temp_at_ = Clock::now() + temp_.interval();
  }

  void LoseProtection() {
    if (ending_) return;
    ending_ = std::pair(OutcomeKind::kCancelled, Reason::kProtectionLost);
    Kill();
  }

  // Over a limit of the host's resources there is no time to ask. For memory the
  // largest process goes first, as the kernel would have it; if that does not
  // help soon, all go.
  void CheckLimits(Clock::time_point now) {
    std::optional<TreeWatch::Excess> excess = watch_->Exceeded();
    if (!excess) {
      over_since_.reset();
      return;
    }
    if (!over_since_) over_since_ = now;
    if (excess->largest > 0 && now - *over_since_ < kGrace) {
      EndProcess(excess->largest);
      if (killed_ != excess->largest) {
        killed_ = excess->largest;
        limit_kills_.push_back(
            {Reason::kMemoryLimit, "kill", base::Printable(excess->name), "limits.memory", "", 1});
        if (options_.on_violation) options_.on_violation(limit_kills_.back());
      }
      return;
    }
    ending_ = std::pair(OutcomeKind::kLimit, excess->reason);
    Kill();
  }

  // Inside a pid namespace only init can name it. Elsewhere there is no time to lose.
  void EndProcess(pid_t process) {
    if (InsideProc()) return Signal(process, SIGKILL);
    sys::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (!pidfd.valid() || !IsInTree(process, launched_.pid)) return;
    syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }

  void Loop() {
    while (!gone_) {
      enum { kStatus, kCancel, kSignals, kOut, kErr, kTermIn, kTermOut, kMounts, kBroker, kCount };
      pollfd watched[kCount];
      for (pollfd& entry : watched) entry = {-1, 0, 0};
      watched[kStatus] = {launched_.status.get(), POLLIN, 0};
      watched[kCancel] = {ending_ ? -1 : options_.cancel_fd, POLLIN, 0};
      watched[kSignals] = {options_.signal_fd, POLLIN, 0};
      if (out_) watched[kOut] = out_->Wanted();
      if (err_) watched[kErr] = err_->Wanted();
      if (terminal_) watched[kTermIn] = terminal_->WantedInput();
      if (terminal_) watched[kTermOut] = terminal_->WantedOutput();
      if (keeper_) watched[kMounts] = keeper_->WantedMounts();
      if (broker_ && !ending_) watched[kBroker] = {broker_->broken(), POLLIN, 0};
      if (poll(watched, kCount, Timeout()) < 0 && errno != EINTR) break;
      // First: every moment counts here.
      if (keeper_ && !keeper_->Serve(watched[kMounts].revents)) LoseProtection();
      if (watched[kBroker].revents != 0) LoseProtection();
      if (out_) out_->Serve(watched[kOut].revents);
      if (err_) err_->Serve(watched[kErr].revents);
      if (terminal_) terminal_->ServeInput(watched[kTermIn].revents);
      if (terminal_) terminal_->ServeOutput(watched[kTermOut].revents);
      if (watched[kCancel].revents != 0) End(OutcomeKind::kCancelled, Reason::kCancelled);
      if (watched[kSignals].revents != 0) PassSignal();
      if (watched[kStatus].revents != 0) ReadReport();
      CheckTime();
    }
  }

  void PassSignal() {
    signalfd_siginfo info;
    if (read(options_.signal_fd, &info, sizeof(info)) != ssize_t{sizeof(info)}) return;
    int number = static_cast<int>(info.ssi_signo);
    if (number == SIGWINCH && terminal_) terminal_->CopyWindowSize();
    // Whoever ends us means the command and all it started.
    bool ends = number == SIGTERM || number == SIGHUP;
    Signal(ends ? backend::kEveryone : backend::kCommandGroup, number);
    if (!ends) return;
    ended_by_ = number;
    if (!kill_at_) kill_at_ = Clock::now() + kGrace;
  }

  // The status pipe closes when init is gone, and with it everything inside.
  void ReadReport() {
    Report report;
    ssize_t got = read(launched_.status.get(), &report, sizeof(report));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got != ssize_t{sizeof(report)}) {
      gone_ = true;
      return;
    }
    if (report.kind != ReportKind::kStarted) report_ = report;
  }

  Result<Outcome> Conclude() {
    Kill();
    Reap();
    Outcome outcome;
    if (out_) Collect(*out_, outcome.out, outcome.out_truncated);
    if (err_) Collect(*err_, outcome.err, outcome.err_truncated);
    if (terminal_) terminal_->Drain();
    terminal_.reset();
    if (broker_) {
      BrokerFindings findings = broker_->Finish();
      outcome.violations = std::move(findings.violations);
      outcome.new_repositories = std::move(findings.new_repositories);
    }
    if (uint64_t kills = options_.cgroup.memory_kills ? options_.cgroup.memory_kills() : 0) {
      limit_kills_.push_back({Reason::kMemoryLimit, "kill", "", "limits.memory", "", kills});
      if (options_.on_violation) options_.on_violation(limit_kills_.back());
    }
    outcome.violations.insert(outcome.violations.end(), limit_kills_.begin(), limit_kills_.end());
    outcome.backend = host::BackendName(plan_.backend);
    outcome.enforcement = plan_.enforcement;
    outcome.dropped_environment = plan_.dropped_environment;
    outcome.usage.wall_ms = static_cast<uint64_t>(
        std::chrono::duration_cast<milliseconds>(Clock::now() - began_).count());
    if (report_) {
      outcome.usage.cpu_ms = (report_->user_us + report_->system_us) / 1000;
      outcome.usage.max_rss_kb = report_->max_rss_kb;
    }
    if (report_ && report_->kind == ReportKind::kSetupFailed) {
      return base::SystemError(
          "setting up the sandbox: " + backend::DescribeStep(spec_, report_->detail),
          report_->value, Reason::kSetupFailed);
    }
    Judge(outcome);
    return outcome;
  }

  void Collect(OutputStream& stream, std::string& kept, bool& truncated) {
    stream.Drain();
    // What is not written on yet goes out now; a reader that does not read has
    // until the grace period is over.
    Clock::time_point until = Clock::now() + kGrace;
    while (stream.open() && Clock::now() < until) {
      pollfd wanted = stream.Wanted();
      if (poll(&wanted, 1, 100) > 0) stream.Serve(wanted.revents);
    }
    kept = stream.TakeKept();
    truncated = stream.truncated();
  }

  void Judge(Outcome& outcome) const {
    std::string command = base::Printable(spec_.argv[0]);
    if (report_ && report_->kind == ReportKind::kExecFailed) {
      outcome.kind = OutcomeKind::kExecFailed;
      outcome.reason = report_->value == ENOENT   ? Reason::kExecNotFound
                       : report_->value == EACCES ? Reason::kExecDenied
                                                  : Reason::kExecFailed;
      outcome.message = command + ": " + base::ErrnoText(report_->value);
      return;
    }
    // A keeper that finds its run ended cannot keep anything; that is no loss.
    bool ended = report_ && report_->kind == ReportKind::kEnded;
    if (ending_ && !(ended && ending_->second == Reason::kProtectionLost)) {
      outcome.kind = ending_->first;
      outcome.reason = ending_->second;
      outcome.signal = SIGKILL;
      outcome.message = command + ": " + std::string(ReasonId(ending_->second));
      return;
    }
    int status = report_ ? report_->value : SIGKILL;
    if (!report_) {  // init was killed before it could report
      outcome.kind = OutcomeKind::kSignaled;
      outcome.reason = Reason::kSignaled;
      outcome.signal = ended_by_ != 0 ? ended_by_ : SIGKILL;
    } else if (WIFEXITED(status)) {
      outcome.kind = OutcomeKind::kExited;
      outcome.reason = Reason::kExited;
      outcome.exit_code = WEXITSTATUS(status);
    } else {
      outcome.kind = OutcomeKind::kSignaled;
      outcome.reason = Reason::kSignaled;
      outcome.signal = WTERMSIG(status);
      if (outcome.signal == SIGKILL && !limit_kills_.empty()) {
        outcome.kind = OutcomeKind::kLimit;
        outcome.reason = Reason::kMemoryLimit;
        outcome.message = command + ": " + std::string(ReasonId(outcome.reason));
      }
      if (outcome.signal == SIGXCPU) {
        outcome.kind = OutcomeKind::kLimit;
        outcome.reason = Reason::kCpuLimit;
      }
    }
  }

  bool started_ = false;
  const plan::Plan& plan_;
  const backend::ChildSpec& spec_;
  Clone& clone_;
  const SuperviseOptions& options_;
  Clock::time_point began_;
  TempWatch temp_;
  Clock::time_point temp_at_;
  Launched launched_;
  std::unique_ptr<Broker> broker_;
  std::optional<OutputStream> out_, err_;
  std::optional<TerminalRelay> terminal_;
  std::optional<TreeWatch> watch_;
  std::optional<MountKeeper> keeper_;
  Clock::time_point look_at_ = began_ + kNamesInterval;
  std::optional<Clock::time_point> deadline_, kill_at_;
  std::optional<std::pair<OutcomeKind, Reason>> ending_;
  std::optional<Report> report_;
  std::optional<Clock::time_point> over_since_;
  std::vector<Violation> limit_kills_;
  pid_t killed_ = 0;
  int ended_by_ = 0;
  bool gone_ = false;
};

}  // namespace

Result<Outcome> Supervise(const plan::Plan& plan, const backend::ChildSpec& spec, Clone& clone,
                          const SuperviseOptions& options) {
  return Run(plan, spec, clone, options).Go();
}

}  // namespace cordon::spawn
