// Runs in: supervisor, broker thread. Without namespaces: removes names, and changes
// what is written about files, on a caller's behalf. Landlock knows no right for most
// of it; a read-only mount would refuse it.
#pragma once

#include <optional>

#include "spawn/caller.h"
#include "spawn/file_gate.h"

namespace cordon::spawn {

class FileChanger {
 public:
  explicit FileChanger(const FileGate& gate) : gate_(gate) {}

  // Nothing: not a call that is answered here.
  std::optional<Answer<void>> Answer1(const Caller& caller);

  // The watch descriptor that inotify_add_watch gives.
  Answer<int> AddWatch(const Caller& caller);

 private:
  struct Target {
    sys::UniqueFd file;  // O_PATH
    std::string link;    // leads to it
  };
  Answer<Target> ByPath(const Caller& caller, int directory, int path_index, Follow follow) const;
  Answer<Target> ByDescriptor(const Caller& caller, int descriptor) const;
  Answer<Target> Checked(sys::UniqueFd file) const;

  Answer<void> Remove(const Caller& caller, int directory, int path_index, int flags) const;
  Answer<void> SetTimes(const Caller& caller) const;
  Answer<void> SetMode(const Answer<Target>& target, uint64_t mode) const;
  Answer<void> SetOwner(const Answer<Target>& target, uint64_t uid, uint64_t gid) const;
  Answer<void> SetAttribute(const Caller& caller, const Answer<Target>& target) const;
  Answer<void> RemoveAttribute(const Caller& caller, const Answer<Target>& target) const;

  const FileGate& gate_;
};

}  // namespace cordon::spawn
