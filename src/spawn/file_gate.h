// Runs in: supervisor, broker thread. Without namespaces: what may be opened and
// what may be changed, by where it lies. Pure but for /proc, where it matters whose
// process is meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "spawn/caller.h"

namespace cordon::spawn {

class FileGate {
 public:
  // `init`: the sandbox's first process.
  FileGate(const plan::Plan& plan, pid_t init) : plan_(plan), init_(init) {}

  // `path` is where an existing file lies now. EACCES: it is not there for the
  // command; EROFS: it is not the command's to change.
  Answer<void> MayRead(const std::string& path) const;
  Answer<void> MayChange(const std::string& path) const;
  // A name in a directory: to be removed, renamed, linked or made.
  Answer<void> MayUnname(const std::string& path) const;
  // Both in one region: as with mounts, nothing is moved or linked across.
  bool SameRegion(const std::string& one, const std::string& other) const;

  // A file of /proc, which is opened to be read only.
  Answer<void> MayReadProc(const Caller& caller, const std::string& path) const;
  // A device that every command needs, or that the policy names.
  bool IsGrantedDevice(std::string_view path) const;

  const plan::Plan& plan() const { return plan_; }
  pid_t init() const { return init_; }

 private:
  const plan::Region* HostRegion(const std::string& path) const;

  const plan::Plan& plan_;
  pid_t init_;
};

}  // namespace cordon::spawn
