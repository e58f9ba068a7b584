// Runs in: the process that is to be confined. macOS only.
#include "backend/macos/seatbelt_apply.h"

#include <sandbox.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/error.h"

// Not in the public header, but what sandbox-exec itself calls: the header's
// sandbox_init takes no parameters, and paths must not be in the text.
extern "C" int sandbox_init_with_parameters(const char* profile, uint64_t flags,
                                            const char* const parameters[], char** error);

namespace cordon::backend {
namespace {

Error Refused(const std::string& why) {
  return {.code = Code::kUnsupported,
          .reason = Reason::kSystemCall,
          .message = "macOS does not take the Seatbelt profile: " + why};
}

}  // namespace

Status ApplySeatbelt(const SeatbeltProfile& profile) {
  std::vector<const char*> parameters;  // name, value, name, value, …, null
  for (const auto& [name, value] : profile.parameters) {
    parameters.push_back(name.c_str());
    parameters.push_back(value.c_str());
  }
  parameters.push_back(nullptr);
  char* message = nullptr;
  if (sandbox_init_with_parameters(profile.text.c_str(), 0, parameters.data(), &message) == 0) {
    return {};
  }
  std::string why = message == nullptr ? "no reason given" : message;
  if (message != nullptr) sandbox_free_error(message);
  return Refused(why);
}

Status TrySeatbelt(const SeatbeltProfile& profile) {
  pid_t child = fork();
  if (child < 0) return base::SystemError("fork", errno);
  if (child == 0) {
    if (!ApplySeatbelt(profile)) _exit(1);
    execl("/usr/bin/true", "true", static_cast<char*>(nullptr));
    _exit(2);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return base::SystemError("waitpid", errno);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  bool taken = WIFEXITED(status) && WEXITSTATUS(status) == 2;
  return Refused(taken ? "a command cannot be executed under it" : "it is not valid there");
}

}  // namespace cordon::backend
