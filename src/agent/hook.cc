#include "agent/hook.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/strings.h"
#include "sys/fd.h"

namespace cordon::agent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kAnswerWithin{30};
constexpr size_t kMostAnswer = size_t{16} << 20;

Error Denied(std::string why) {
  return {.code = Code::kDenied, .reason = Reason::kHookDenied, .message = std::move(why)};
}

struct Pipes {
  sys::UniqueFd in_read, in_write, out_read, out_write;
};

Result<Pipes> MakePipes() {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno);
  Pipes pipes;
  pipes.in_read.reset(in[0]);
  pipes.in_write.reset(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno);
  pipes.out_read.reset(out[0]);
  pipes.out_write.reset(out[1]);
  fcntl(in[1], F_SETFL, O_NONBLOCK);
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  return pipes;
}

// A group of its own, so that all of it can be ended; stderr is ours.
Result<pid_t> Start(const std::string& command, const Pipes& pipes) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, pipes.in_read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes.out_write.get(), STDOUT_FILENO);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  std::string shell = "sh", option = "-c", line = command;
  std::array<char*, 4> argv = {shell.data(), option.data(), line.data(), nullptr};
  pid_t pid = -1;
  int failed = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return base::SystemError("start the hook", failed);
  return pid;
}

// Writes the question and reads the answer at the same time. Nothing: it took too long.
std::optional<std::string> Talk(Pipes& pipes, std::string_view question) {
  std::string answer;
  Clock::time_point until = Clock::now() + kAnswerWithin;
  std::array<char, 16 * 1024> buffer;
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || answer.size() > kMostAnswer) return std::nullopt;
    pollfd watched[] = {{pipes.out_read.get(), POLLIN, 0},
                        {question.empty() ? -1 : pipes.in_write.get(), POLLOUT, 0}};
    if (poll(watched, 2, static_cast<int>(left)) <= 0) continue;
    if (watched[1].revents != 0) {
      ssize_t written = write(pipes.in_write.get(), question.data(), question.size());
      bool gone = written < 0 && errno != EAGAIN && errno != EINTR;
      question.remove_prefix(gone ? question.size()
                                  : static_cast<size_t>(std::max<ssize_t>(written, 0)));
      if (question.empty()) pipes.in_write.reset();
    }
    if (watched[0].revents == 0) continue;
    ssize_t got = read(pipes.out_read.get(), buffer.data(), buffer.size());
    if (got == 0) return answer;
    if (got > 0) answer.append(buffer.data(), static_cast<size_t>(got));
  }
}

Result<Json> Judge(const std::string& answer, const Json& arguments) {
  if (answer.find_first_not_of(" \t\r\n") == answer.npos) return arguments;
  Json said = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return Denied("the hook's answer is not a JSON object");
  std::string decision = said.contains("decision") && said["decision"].is_string()
                             ? said["decision"].get<std::string>()
                             : "";
  if (decision == "allow") return said.contains("arguments") ? said["arguments"] : arguments;
  if (decision != "deny") return Denied("the hook said neither allow nor deny");
  bool told = said.contains("reason") && said["reason"].is_string();
  return Denied("the hook denies it: " +
                (told ? base::Printable(said["reason"].get<std::string>()) : "no reason given"));
}

}  // namespace

Result<Json> AskHook(const std::string& command, std::string_view tool, const Json& arguments) {
  CORDON_ASSIGN_OR_RETURN(Pipes pipes, MakePipes());
  CORDON_ASSIGN_OR_RETURN(pid_t pid, Start(command, pipes));
  pipes.in_read.reset();
  pipes.out_write.reset();
  Json call = {{"event", "before_call"}, {"tool", tool}, {"arguments", arguments}};
  std::optional<std::string> answer =
      Talk(pipes, call.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!answer) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answer) return Denied("the hook did not answer in time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Denied("the hook ended with status " +
                  std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
  }
  return Judge(*answer, arguments);
}

}  // namespace cordon::agent
