#include "host/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::host {
namespace {

int ModeOf(Permission permission) {
  switch (permission) {
    case Permission::kRead:
      return R_OK;
    case Permission::kWrite:
      return W_OK;
    case Permission::kExecute:
      return X_OK;
  }
  return R_OK;
}

}  // namespace

Status CheckPermission(const std::string& path, Permission permission) {
  struct stat status;
  int mode = ModeOf(permission);
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) mode |= X_OK;
  if (faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0) return {};
  return base::SystemError(base::Printable(path), errno);
}

}  // namespace cordon::host
