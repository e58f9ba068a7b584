// Runs in: supervisor, broker thread. Without namespaces: opens files that exist on
// a caller's behalf. What is judged is what is opened: the path is resolved to a
// descriptor first, and the file is opened through that.
#pragma once

#include <set>
#include <string>

#include "spawn/caller.h"
#include "spawn/file_gate.h"

namespace cordon::spawn {

class FileOpener {
 public:
  explicit FileOpener(const FileGate& gate) : gate_(gate) {}

  struct Request {
    int directory;
    std::string path;
    int flags;
    mode_t mode;
  };
  // Without O_CREAT. EINPROGRESS with `blocking` set: a FIFO, which another thread
  // opens. ELOOP with nothing else: the path goes through /proc; ask OpenProc's way.
  Answer<sys::UniqueFd> Open(const Caller& caller, const Request& request, sys::UniqueFd& blocking);

  // `file`: O_PATH of what is to be opened.
  Answer<sys::UniqueFd> OpenFound(const Caller& caller, sys::UniqueFd file, int flags,
                                  sys::UniqueFd& blocking);

  // A file or directory of /proc that is no link.
  Answer<sys::UniqueFd> OpenProc(const Caller& caller, sys::UniqueFd file, int flags);

 private:
  Answer<sys::UniqueFd> OpenDevice(const Caller& caller, const sys::UniqueFd& file,
                                   const std::string& path, int flags);
  Answer<sys::UniqueFd> OpenNameless(const Caller& caller, const Request& request);
  Answer<sys::UniqueFd> ListProcesses();
  Answer<sys::UniqueFd> ListDevices();
  Answer<sys::UniqueFd> Show(const char* name, std::set<std::string> wanted);
  Answer<sys::UniqueFd> PrivateFile(const std::string& path) const;
  bool OwnsTerminal(const Caller& caller, const std::string& path) const;

  const FileGate& gate_;
  std::set<std::string> terminals_;  // slaves of the masters that were opened here
};

}  // namespace cordon::spawn
