// Runs in: supervisor, and a keeper process of its own.
#include "spawn/kept_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "sys/signals.h"

namespace cordon::spawn {
namespace {

constexpr int kGraceMs = 1000;

struct Pipe {
  sys::UniqueFd read_end, write_end;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno);
  return Pipe{sys::UniqueFd(ends[0]), sys::UniqueFd(ends[1])};
}

// What the keeper needs, made before the fork: after it nothing is allocated.
struct Orders {
  const char* program;
  char* const* argv;
  char* const* environment;
  int lifeline;
  int status;
  int exec_failed;
  int null;
};

[[noreturn]] void BecomeCommand(const Orders& orders, pid_t keeper) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  if (getppid() != keeper) _exit(127);
  for (int number : {SIGPIPE, SIGCHLD}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(orders.null, 0) >= 0 && dup2(orders.null, 1) >= 0) {
    execve(orders.program, orders.argv, orders.environment);
  }
  int error = errno;
  static_cast<void>(!write(orders.exec_failed, &error, sizeof error));
  _exit(127);
}

// Those whose parent is gone are the keeper's children, too: it is their reaper.
void SignalChildren(pid_t command, int number) {
  kill(-command, number);
  int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return;
  std::array<char, 4096> text;
  ssize_t got = read(list, text.data(), text.size());
  close(list);
  pid_t pid = 0;
  for (ssize_t i = 0; i < got; ++i) {
    char c = text[static_cast<size_t>(i)];
    if (c >= '0' && c <= '9') {
      pid = pid * 10 + (c - '0');
    } else {
      if (pid > 0) kill(pid, number);
      pid = 0;
    }
  }
}

class Keeper {
 public:
  Keeper(const Orders& orders, pid_t command, int children)
      : orders_(orders), command_(command), children_(children) {}

  [[noreturn]] void Keep() {
    while (!Reap()) {
      if (Wait(-1)) EndAll();
    }
    static_cast<void>(!write(orders_.status, &wait_status_, sizeof wait_status_));
    _exit(0);
  }

 private:
  // Whether none is left.
  bool Reap() {
    for (;;) {
      int status = 0;
      pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid == command_) wait_status_ = status;
      if (pid <= 0) return pid < 0 && errno == ECHILD;
    }
  }

  // Until a child has ended or the time is up; whether the owner is gone.
  bool Wait(int ms) {
    pollfd watched[] = {{orders_.lifeline, POLLIN, 0}, {children_, POLLIN, 0}};
    if (ended_) watched[0].fd = -1;
    poll(watched, 2, ms);
    signalfd_siginfo info;
    while (read(children_, &info, sizeof info) == ssize_t{sizeof info}) {
    }
    return watched[0].revents != 0;
  }

  void EndAll() {
    ended_ = true;
    SignalChildren(command_, SIGTERM);
    for (int waited = 0; waited < kGraceMs && !Reap(); waited += 50) Wait(50);
    // Each round makes orphans of those below; none is left in the end.
    while (!Reap()) {
      SignalChildren(command_, SIGKILL);
      Wait(50);
    }
  }

  const Orders& orders_;
  pid_t command_;
  int children_;
  int wait_status_ = 0;
  bool ended_ = false;
};

// Only what may be done after a fork of a program with threads.
[[noreturn]] void BecomeKeeper(const Orders& orders) {
  setsid();
  prctl(PR_SET_NAME, "cordon-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Every signal is held back; those that cannot be end it, and with it the command.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);
  int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  pid_t self = getpid();
  pid_t command = fork();
  if (command == 0) BecomeCommand(orders, self);
  if (command < 0 || children < 0) {
    int error = errno;
    static_cast<void>(!write(orders.exec_failed, &error, sizeof error));
    _exit(127);
  }
  close(orders.exec_failed);
  Keeper(orders, command, children).Keep();
}

// Everything else of the owner's is closed, in numbers that are in the way of none.
[[noreturn]] void Isolate(Orders orders) {
  int* kept[] = {&orders.lifeline, &orders.status, &orders.exec_failed, &orders.null};
  constexpr int kFirst = 3, kAside = 16;
  for (int*& fd : kept) *fd = fcntl(*fd, F_DUPFD_CLOEXEC, kAside);
  int next = kFirst;
  for (int*& fd : kept) *fd = dup3(*fd, next++, O_CLOEXEC);
  syscall(SYS_close_range, next, ~0U, 0U);
  BecomeKeeper(orders);
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<KeptProcess> KeptProcess::Start(const KeptCommand& command) {
  CORDON_ASSIGN_OR_RETURN(Pipe lifeline, MakePipe());
  CORDON_ASSIGN_OR_RETURN(Pipe status, MakePipe());
  CORDON_ASSIGN_OR_RETURN(Pipe exec_failed, MakePipe());
  sys::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return base::SystemError("open /dev/null", errno);
  std::vector<std::string> words = command.argv, variables;
  for (const auto& [name, value] : command.environment) variables.push_back(name + "=" + value);
  std::vector<char*> argv = Pointers(words), environment = Pointers(variables);
  Orders orders{command.program.c_str(),
                argv.data(),
                environment.data(),
                lifeline.read_end.get(),
                status.write_end.get(),
                exec_failed.write_end.get(),
                null.get()};
  pid_t pid;
  {
    sys::SignalsBlocked blocked;
    pid = fork();
    if (pid == 0) Isolate(orders);
  }
  if (pid < 0) return base::SystemError("fork", errno);
  KeptProcess kept(pid, std::move(lifeline.write_end), std::move(status.read_end));
  exec_failed.write_end.reset();
  int error = 0;
  ssize_t got;
  do {
    got = read(exec_failed.read_end.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got != 0) return base::SystemError("execute " + command.program, error);
  return kept;
}

std::optional<int> KeptProcess::WaitStatus() {
  int status = 0;
  ssize_t got = read(status_.get(), &status, sizeof status);
  return got == ssize_t{sizeof status} ? std::optional(status) : std::nullopt;
}

KeptProcess::KeptProcess(KeptProcess&& other) noexcept
    : keeper_(std::exchange(other.keeper_, -1)),
      lifeline_(std::move(other.lifeline_)),
      status_(std::move(other.status_)) {}

KeptProcess& KeptProcess::operator=(KeptProcess&& other) noexcept {
  if (this == &other) return *this;
  End();
  keeper_ = std::exchange(other.keeper_, -1);
  lifeline_ = std::move(other.lifeline_);
  status_ = std::move(other.status_);
  return *this;
}

KeptProcess::~KeptProcess() { End(); }

void KeptProcess::End() {
  if (keeper_ < 0) return;
  lifeline_.reset();
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  keeper_ = -1;
}

}  // namespace cordon::spawn
