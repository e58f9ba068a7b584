#include "session/credentials.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/error.h"
#include "base/strings.h"
#include "guard/placeholder.h"
#include "host/real_paths.h"
#include "plan/rules.h"
#include "sys/fd.h"

namespace cordon::session {
namespace {

constexpr std::string_view kEnv = "env:", kFile = "file:", kCommand = "command:";
constexpr size_t kMostBytes = 16 * 1024;
constexpr std::chrono::seconds kCommandTime(30);

Error Bad(const std::string& what) { return base::InvalidArgument(Reason::kPolicyBadValue, what); }

Result<std::string> ReadFile(const std::string& path) {
  sys::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status{};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return base::SystemError("open " + path, errno);
  if (!S_ISREG(status.st_mode)) return Bad(path + " is not a regular file");
  // Only this name of it is covered inside; the others would show it.
  if (status.st_nlink > 1) return Bad(path + " has another name (a hard link)");
  std::string text(kMostBytes + 1, '\0');
  ssize_t got = read(fd.get(), text.data(), text.size());
  if (got < 0) return base::SystemError("read " + path, errno);
  text.resize(static_cast<size_t>(got));
  return text;
}

// A command of the policy, which is the user's own: it runs outside, as they would
// run it.
class HostCommand {
 public:
  HostCommand() = default;
  HostCommand(const HostCommand&) = delete;
  HostCommand& operator=(const HostCommand&) = delete;
  ~HostCommand() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }

  Status Start(const std::string& line, const std::map<std::string, std::string>& environment) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return base::SystemError("pipe2", errno);
    output_.reset(ends[0]);
    sys::UniqueFd write_end(ends[1]);
    std::vector<std::string> words = {"sh", "-c", line}, variables;
    for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
    int failed = posix_spawn(&pid_, "/bin/sh", &actions, nullptr, Pointers(words).data(),
                             Pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed == 0) return {};
    pid_ = -1;
    return base::SystemError("posix_spawn /bin/sh", failed);
  }

  Result<std::string> Output() {
    auto deadline = std::chrono::steady_clock::now() + kCommandTime;
    std::string text;
    std::array<char, 4096> buffer;
    while (text.size() <= kMostBytes) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      pollfd ready{output_.get(), POLLIN, 0};
      if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) {
        return Bad("the command did not end in time");
      }
      ssize_t got = read(output_.get(), buffer.data(), buffer.size());
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) break;
      text.append(buffer.data(), static_cast<size_t>(got));
    }
    int status = Wait();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return Bad("the command failed");
    return text;
  }

 private:
  static std::vector<char*> Pointers(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  int Wait() {
    int status = -1;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  pid_t pid_ = -1;
  sys::UniqueFd output_;
};

Result<std::string> ReadSource(const std::string& from,
                               const std::map<std::string, std::string>& environment) {
  if (from.starts_with(kEnv)) {
    auto found = environment.find(from.substr(kEnv.size()));
    if (found == environment.end()) return Bad("the variable is not set");
    return found->second;
  }
  if (from.starts_with(kFile)) return ReadFile(from.substr(kFile.size()));
  HostCommand command;
  CORDON_TRY(command.Start(from.substr(std::min(kCommand.size(), from.size())), environment));
  return command.Output();
}

// As it goes into a header: one line of printable bytes.
Result<std::string> CheckedValue(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.size() < guard::kShortestSecret) return Bad("the value is too short for a secret");
  if (text.size() > kMostBytes) return Bad("the value is too long");
  bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!plain) return Bad("the value is not one line of printable text");
  return text;
}

Result<proxy::Secret> ReadSecret(const Credential& credential, size_t number,
                                 const std::map<std::string, std::string>& environment) {
  proxy::Secret secret{.header = credential.header, .format = credential.format};
  CORDON_ASSIGN_OR_RETURN(secret.host, guard::ParseHostPattern(credential.host));
  CORDON_ASSIGN_OR_RETURN(std::string text, ReadSource(credential.from, environment));
  CORDON_ASSIGN_OR_RETURN(secret.value, CheckedValue(std::move(text)));
  if (credential.from.starts_with(kCommand)) return secret;
  auto placeholder = guard::PlaceholderFor(secret.value, number);
  if (!placeholder) return Bad("the value has no form that a placeholder could have");
  secret.placeholder = *placeholder;
  return secret;
}

void Replace(std::string& text, size_t start, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from, start); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

void HideInEnvironment(const Credential& credential, const proxy::Secret& secret,
                       plan::Plan& plan) {
  const std::string& shown = secret.placeholder.empty() ? "cordon" : secret.placeholder;
  for (std::string& variable : plan.environment) {
    Replace(variable, variable.find('=') + 1, secret.value, shown);
  }
  if (!credential.from.starts_with(kEnv)) return;
  std::string start = credential.from.substr(kEnv.size()) + "=";
  std::erase_if(plan.environment, [&](const std::string& one) { return one.starts_with(start); });
  plan.environment.push_back(start + secret.placeholder);
  std::ranges::sort(plan.environment);
}

// Its region is a mask already (plan::SecretFiles). Where nothing else denies it,
// the placeholder is seen on top of that; if the host replaces the file meanwhile,
// the mask alone comes back.
void HideFile(const Credential& credential, const proxy::Secret& secret, plan::Plan& plan) {
  if (!credential.from.starts_with(kFile)) return;
  host::RealPaths probe;
  std::string path = probe.Inspect(credential.from.substr(kFile.size())).canonical;
  const plan::Region* region = plan::RegionOf(plan.fs.regions, path);
  bool masked = region != nullptr && region->path == path;
  std::vector<plan::FsRule> others = plan.fs.rules;
  std::erase_if(others, [](auto& rule) { return rule.origin.source == plan::kCredential; });
  bool covered = std::ranges::any_of(plan.files, [&](auto& file) { return file.path == path; });
  if (masked && !covered && plan::MatchRules(others, path).read != nullptr) {
    plan.files.push_back({path, secret.placeholder + "\n"});
  }
}

}  // namespace

Result<std::vector<proxy::Secret>> ReadSecrets(
    const std::vector<Credential>& credentials,
    const std::map<std::string, std::string>& environment) {
  std::vector<proxy::Secret> secrets;
  for (size_t i = 0; i < credentials.size(); ++i) {
    // One placeholder for one source, whatever the hosts it is for.
    auto first = std::ranges::find(credentials, credentials[i].from, &Credential::from);
    auto number = static_cast<size_t>(first - credentials.begin());
    auto secret = ReadSecret(credentials[i], number, environment);
    if (!secret) {
      return std::move(secret).error().Within("net.credential for " + credentials[i].host +
                                              " from " + base::Printable(credentials[i].from));
    }
    secrets.push_back(std::move(*secret));
  }
  return secrets;
}

void HideSecrets(const std::vector<Credential>& credentials,
                 const std::vector<proxy::Secret>& secrets, plan::Plan& plan) {
  for (size_t i = 0; i < std::min(credentials.size(), secrets.size()); ++i) {
    HideInEnvironment(credentials[i], secrets[i], plan);
    HideFile(credentials[i], secrets[i], plan);
  }
}

}  // namespace cordon::session
