#include "cli/export_oci.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ranges>

#include "base/error.h"
#include "sys/fd.h"

namespace cordon::cli {
namespace {

using backend::BundleEntry;

Status WriteFile(int directory, const BundleEntry& entry) {
  sys::UniqueFd fd(openat(directory, entry.path.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return base::SystemError("create " + entry.path, errno);
  std::string_view left = entry.data;
  while (!left.empty()) {
    ssize_t written = write(fd.get(), left.data(), left.size());
    if (written < 0) return base::SystemError("write " + entry.path, errno);
    left.remove_prefix(static_cast<size_t>(written));
  }
  if (fchmod(fd.get(), entry.mode) != 0) return base::SystemError("chmod " + entry.path, errno);
  return {};
}

Status Make(int directory, const BundleEntry& entry) {
  switch (entry.kind) {
    case BundleEntry::Kind::kDirectory:
      if (mkdirat(directory, entry.path.c_str(), 0700) == 0) return {};
      return base::SystemError("mkdir " + entry.path, errno);
    case BundleEntry::Kind::kLink:
      if (symlinkat(entry.data.c_str(), directory, entry.path.c_str()) == 0) return {};
      return base::SystemError("symlink " + entry.path, errno);
    case BundleEntry::Kind::kFile:
      return WriteFile(directory, entry);
  }
  return {};
}

}  // namespace

Status WriteBundle(const std::string& directory, const backend::OciBundle& bundle) {
  if (mkdir(directory.c_str(), 0755) != 0) return base::SystemError("mkdir " + directory, errno);
  sys::UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return base::SystemError("open " + directory, errno);
  for (const BundleEntry& entry : bundle.entries) CORDON_TRY(Make(fd.get(), entry));
  // Last: a closed directory could not be filled.
  for (const BundleEntry& entry : bundle.entries | std::views::reverse) {
    if (entry.kind != BundleEntry::Kind::kDirectory) continue;
    if (fchmodat(fd.get(), entry.path.c_str(), entry.mode, 0) != 0) {
      return base::SystemError("chmod " + entry.path, errno);
    }
  }
  return {};
}

}  // namespace cordon::cli
