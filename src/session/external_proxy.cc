#include "session/external_proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/strings.h"
#include "host/real_paths.h"
#include "plan/rules.h"
#include "sys/fd.h"

namespace cordon::session {
namespace {

constexpr std::chrono::seconds kListenTime(10);
constexpr int kLookMs = 20;

Error Failed(const std::string& what, std::string hint = {}) {
  return {.code = Code::kSystem,
          .reason = Reason::kExternalFailed,
          .message = "net.external: " + what,
          .hint = std::move(hint)};
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One that nobody has just now.
Result<int> FreePort() {
  sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (!fd.valid() || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return base::SystemError("a free port on 127.0.0.1", errno, Reason::kExternalFailed);
  }
  return ntohs(address.sin_port);
}

bool Accepts(int port) {
  sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(port);
  return fd.valid() &&
         connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

// As execvp would find it.
std::string FindProgram(const std::string& name,
                        const std::map<std::string, std::string>& environment) {
  auto runs = [](const std::string& path) {
    return host::RealPaths().Inspect(path).type == host::FileType::kRegular &&
           access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != name.npos) return runs(name) ? name : std::string();
  auto found = environment.find("PATH");
  std::string path = found == environment.end() ? "/usr/bin:/bin" : found->second;
  for (const std::string& folder : base::Split(path, ':')) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (runs(candidate)) return candidate;
  }
  return {};
}

// Between our choice of the port and its bind somebody else may have taken it: the
// traffic would be theirs. Root, who could have it anyway, may stand in.
bool ListenerIsOurs(int port) {
  constexpr std::string_view kListening = "0A";
  char wanted[8];
  snprintf(wanted, sizeof wanted, ":%04X", port);
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits;
      uid_t uid = 0;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid;
      bool ours = fields && (uid == 0 || uid == geteuid());
      if (local.ends_with(wanted) && state == kListening && !ours) return false;
    }
  }
  return true;
}

std::string HowItEnded(const std::optional<int>& status) {
  if (!status) return "it ended";
  if (WIFSIGNALED(*status)) return "it was ended by signal " + std::to_string(WTERMSIG(*status));
  return "it ended with status " + std::to_string(WEXITSTATUS(*status));
}

Status WaitUntilItListens(ExternalProcess& external) {
  auto deadline = std::chrono::steady_clock::now() + kListenTime;
  while (!Accepts(external.port)) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return Failed("the command did not listen on 127.0.0.1:" + std::to_string(external.port) +
                        " in " + std::to_string(kListenTime.count()) + " s",
                    std::string("it has to take its port from ") + kProxyPortVariable);
    }
    pollfd ended{external.process.ended_fd(), POLLIN, 0};
    if (poll(&ended, 1, kLookMs) <= 0) continue;
    return Failed(HowItEnded(external.process.WaitStatus()) +
                  " before it listened on 127.0.0.1:" + std::to_string(external.port));
  }
  if (!ListenerIsOurs(external.port)) return Failed("another user listens on its port");
  return {};
}

// What the sandbox can write it could have written before: it would run outside.
Status CheckProgram(const std::string& program, const plan::Plan& plan) {
  std::string real = host::RealPaths().Inspect(program).canonical;
  if (!plan::Decide(plan.fs, plan::Access::kWrite, real).allowed) return {};
  Error error = Failed(base::Printable(real) + " lies inside a writable root",
                       "put the program where the command cannot change it");
  error.code = Code::kDenied;
  error.reason = Reason::kPolicyUntrusted;
  return error;
}

}  // namespace

Result<std::optional<ExternalProcess>> StartExternal(
    const std::map<std::string, std::string>& environment, const plan::Plan& plan) {
  const auto& external = plan.net.external;
  if (!external || external->command.empty()) return std::optional<ExternalProcess>();
  const std::string& name = external->command[0];
  std::string program = FindProgram(name, environment);
  if (program.empty()) return Failed(base::Printable(name) + " is not found, or is no program");
  CORDON_TRY(CheckProgram(program, plan));
  CORDON_ASSIGN_OR_RETURN(int port, FreePort());
  spawn::KeptCommand command{program, external->command, environment};
  command.environment[kProxyPortVariable] = std::to_string(port);
  auto process = spawn::KeptProcess::Start(command);
  if (!process) return Failed(process.error().message);
  ExternalProcess started{std::move(*process), port};
  CORDON_TRY(WaitUntilItListens(started));
  return std::optional(std::move(started));
}

}  // namespace cordon::session
