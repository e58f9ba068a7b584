// Files below a root directory, found and opened in one step by openat2
// (RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS), so that there is no gap between
// check and use. `root` is a directory's descriptor, `path` is relative to it.
// A path that leaves the root, by ".." or by a link, is kPathOutside, also for
// a moment and also by a link that is absolute; links that stay inside are
// followed. What is not a regular file is kFileType. Linux 5.6.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "cordon/result.h"
#include "sys/fd.h"

namespace cordon::sys {

Result<UniqueFd> OpenRoot(const std::string& directory);

// A regular file, to read. Never waits for the other end of a pipe.
Result<UniqueFd> OpenBeneath(int root, const std::string& path);
// A directory, to list and to work in. "." is the root.
Result<UniqueFd> OpenDirectoryBeneath(int root, const std::string& path);

// The whole file. One larger than `most` bytes is kFileTooLarge before
// anything is read, and also when it grows meanwhile.
Result<std::string> ReadBeneath(int root, const std::string& path, size_t most);

// The directory that `path` lies in and its last name there, which is no link:
// links in the last place are followed, as opening would. The name may not
// exist yet.
struct Place {
  UniqueFd directory;
  std::string name;
};
Result<Place> FindBeneath(int root, const std::string& path);

// mkdir -p.
Status MakeDirectoriesBeneath(int root, const std::string& path);

// The file has `contents` or stays as it was, also if the machine stops: they
// are written beside it, synced, and renamed over it. Keeps the permission bits
// and, where it may, the owner of the file that was there; never setuid or
// setgid. A file that this user may not write is refused. Other hard links to
// the old file keep the old contents. A new file has `new_mode` less the umask.
Status WriteBeneath(int root, const std::string& path, std::string_view contents,
                    mode_t new_mode = 0666);

}  // namespace cordon::sys
