// Runs in: supervisor, broker thread. Creates, links and renames names on a
// caller's behalf, if the plan lets them come into being.
#pragma once

#include <string>
#include <vector>

#include "cordon/outcome.h"
#include "plan/plan.h"
#include "spawn/caller.h"
#include "spawn/file_gate.h"
#include "spawn/file_opener.h"
#include "spawn/violation_log.h"

namespace cordon::spawn {

class NameMaker {
 public:
  // Where no mounts keep apart what may not meet, `gate` and `files` do; null: mounts do.
  NameMaker(const plan::FsPlan& fs, ViolationLog& violations, const FileGate* gate = nullptr,
            FileOpener* files = nullptr)
      : fs_(fs), violations_(violations), gate_(gate), files_(files) {}

  struct OpenRequest {
    int directory;
    std::string path;
    int flags;
    mode_t mode;
  };
  // The opened file. A FIFO is answered with EINPROGRESS and left in `blocking`
  // for another thread to open, as that may wait for its other end.
  Answer<sys::UniqueFd> Open(const Caller& caller, OpenRequest request, sys::UniqueFd& blocking);
  Answer<void> MakeDirectory(const Caller& caller, int directory, const std::string& path,
                             mode_t mode);
  Answer<void> MakeNode(const Caller& caller, int directory, const std::string& path, mode_t mode);
  Answer<void> MakeSymlink(const Caller& caller, const std::string& target, int directory,
                           const std::string& path);
  Answer<void> Link(const Caller& caller, int from_directory, const std::string& from,
                    int to_directory, const std::string& to, int flags);
  Answer<void> Rename(const Caller& caller, int from_directory, const std::string& from,
                      int to_directory, const std::string& to, unsigned flags);

  // EPERM if `place` may not come into being (and the denial is logged), EROFS
  // if it is in no writable region. Asked here, and for bind().
  Answer<void> Permit(const Place& place, const char* operation, plan::Creation creation);

  std::vector<std::string> new_repositories;

 private:
  Answer<sys::UniqueFd> OpenExisting(const Caller& caller, const Place& place, int flags,
                                     mode_t type, dev_t device, sys::UniqueFd& blocking);
  Answer<sys::UniqueFd> OpenFound(const Caller& caller, const Place& place, int flags,
                                  sys::UniqueFd& blocking);
  Answer<sys::UniqueFd> OpenOnProc(const Caller& caller, const Place& place, int flags,
                                   sys::UniqueFd& blocking);
  Answer<sys::UniqueFd> OpenHeld(const Caller& caller, int descriptor, int flags,
                                 sys::UniqueFd& blocking);
  Answer<sys::UniqueFd> OpenTerminal(const Caller& caller, int flags);
  bool Writable(const std::string& path) const;
  void NoteRepository(const Place& place);

  Answer<void> MayLink(const std::string& from, const std::string& to) const;

  const plan::FsPlan& fs_;
  ViolationLog& violations_;
  const FileGate* gate_;
  FileOpener* files_;
};

}  // namespace cordon::spawn
