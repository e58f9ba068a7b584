#include "host/facts.h"

#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "sys/uapi.h"

namespace cordon::host {
namespace {

int LandlockAbi() {
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, uapi::kLandlockCreateRulesetVersion);
  if (abi < 0) return 0;
#ifdef CORDON_TEST_HOOKS
  if (const char* lowered = getenv("CORDON_TEST_LANDLOCK_ABI")) {
    return std::min(static_cast<int>(abi), atoi(lowered));
  }
#endif
  return static_cast<int>(abi);
}

}  // namespace

Facts ProbeFacts() {
  Facts facts;
  facts.landlock_abi = LandlockAbi();
  facts.uid = geteuid();
  facts.gid = getegid();
  utsname names;
  if (uname(&names) == 0) facts.hostname = names.nodename;
  facts.ipv6 = access("/proc/net/if_inet6", F_OK) == 0;
  const char* home = getenv("HOME");
  if (home != nullptr && home[0] == '/') facts.home = home;
  return facts;
}

uint64_t CountUserTasks() {
  uint64_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string path = entry.path();
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || status.st_uid != geteuid()) continue;
    // A directory of tasks has one link each, besides its own two.
    if (stat((path + "/task").c_str(), &status) == 0) count += status.st_nlink - 2;
  }
  return count;
}

}  // namespace cordon::host
