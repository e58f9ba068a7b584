// Runs in: supervisor.
#include "spawn/mount_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "backend/linux/mount_ops.h"
#include "guard/path.h"
#include "spawn/inside.h"

namespace cordon::spawn {
namespace {

using plan::Region;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(now);
}

// When the directory last changed. Not its mtime, which the command can set.
int64_t ChangedAt(const std::string& directory) {
  struct stat status;
  return stat(directory.c_str(), &status) == 0 ? Nanoseconds(status.st_ctim) : -1;
}

// mountinfo writes blanks and backslashes in paths as three octal digits.
std::string Unescaped(std::string_view field) {
  std::string plain;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size()) {
      plain += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 +
                                 (field[i + 3] - '0'));
      i += 3;
    } else {
      plain += field[i];
    }
  }
  return plain;
}

// None if the kernel does not tell.
std::optional<std::set<std::string>> MountPoints(int mountinfo) {
  std::string text;
  char buffer[16384];
  ssize_t got;
  lseek(mountinfo, 0, SEEK_SET);
  while ((got = read(mountinfo, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  if (got < 0) return std::nullopt;
  std::set<std::string> points;
  for (size_t start = 0; start < text.size();) {
    size_t end = text.find('\n', start);
    std::string_view line(text.data() + start, end - start);
    size_t field = 0;
    for (int skipped = 0; skipped < 4 && field != std::string_view::npos; ++skipped) {
      field = line.find(' ', field);
      if (field != std::string_view::npos) ++field;
    }
    if (field != std::string_view::npos) {
      points.insert(Unescaped(line.substr(field, line.find(' ', field) - field)));
    }
    start = end + 1;
  }
  return points;
}

std::string ExistingAncestor(std::string_view path) {
  std::string_view ancestor = guard::Parent(path);
  while (ancestor != "/" && access(std::string(ancestor).c_str(), F_OK) != 0) {
    ancestor = guard::Parent(ancestor);
  }
  return std::string(ancestor);
}

}  // namespace

MountKeeper::MountKeeper(const plan::FsPlan& fs, pid_t init, int pidfd)
    : regions_(fs.regions), pidfd_(pidfd), absent_(fs.absent) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/mountinfo", init);
  mounts_.reset(open(path, O_RDONLY | O_CLOEXEC));
  working_ = mounts_.valid();
}

bool MountKeeper::Serve(short mounts) { return mounts == 0 || Restore(); }

// Not before the first look: most runs end before it.
void MountKeeper::FindParents() {
  for (const std::string& name : absent_) parents_.try_emplace(ExistingAncestor(name), 0);
  for (const Region& region : regions_) {
    bool on_host = region.path != "/" && region.source != plan::RegionSource::kPrivate;
    if (on_host) parents_.try_emplace(std::string(guard::Parent(region.path)), 0);
  }
}

bool MountKeeper::Look() {
  // The clock of a file system stands still for up to 10 ms: what changed just
  // now may change once more and not show it.
  constexpr int64_t kTick = 20'000'000;
  bool changed = parents_.empty();
  if (changed) FindParents();
  for (auto& [directory, last] : parents_) {
    int64_t at = ChangedAt(directory);
    changed = changed || at != last;
    last = at > Now() - kTick ? 0 : at;
  }
  if (!changed) return true;
  bool kept = Restore();
  return CoverNew() && kept;
}

bool MountKeeper::Restore() {
  std::optional<std::set<std::string>> points = MountPoints(mounts_.get());
  if (!points) return false;
  if (points->empty()) return true;  // the run is over, and its namespace with it
  bool kept = true;
  for (const Region& region : regions_) {
    if (region.path == "/" || points->contains(region.path)) continue;
    // A name that is gone altogether is the broker's: it cannot come back.
    kept = MountAgain(region) && kept;
  }
  return kept;
}

bool MountKeeper::MountAgain(const Region& region) {
  struct stat status;
  if (lstat(region.path.c_str(), &status) != 0) return true;
  Region now = region;
  now.directory = S_ISDIR(status.st_mode);
  int error = MountInside(pidfd_, backend::RemountOps(now));
  return error == 0 || error == ENOENT || error == ESRCH;
}

bool MountKeeper::CoverNew() {
  bool kept = true;
  std::erase_if(absent_, [&](const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) {
      // One step nearer, perhaps.
      parents_.try_emplace(ExistingAncestor(path), 0);
      return false;
    }
    Region mask{
        path, plan::RegionSource::kMask, plan::Rights::kReadOnly, S_ISDIR(status.st_mode), 0, 0};
    kept = MountAgain(mask) && kept;
    parents_.try_emplace(std::string(guard::Parent(path)), 0);
    regions_.push_back(std::move(mask));
    return true;
  });
  return kept;
}

}  // namespace cordon::spawn
