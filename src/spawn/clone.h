// Runs in: supervisor, and a thread of its own.
//
// The process that becomes a sandbox, made ahead of what it is to do: the kernel
// takes longer to make namespaces than we take to plan, and does it on another
// processor. Until it is told, it waits; a clone that is never told ends with
// this object.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "cordon/result.h"
#include "spawn/child.h"
#include "sys/fd.h"

namespace cordon::spawn {

class Clone {
 public:
  explicit Clone(uint64_t namespaces);  // CLONE_NEW* flags
  ~Clone();
  Clone(const Clone&) = delete;
  Clone& operator=(const Clone&) = delete;

  uint64_t namespaces() const { return namespaces_; }

  struct Made {
    pid_t pid = -1;
    sys::UniqueFd pidfd;
  };
  // Lets it run, and returns when it has become init or has ended. Once only.
  Result<Made> Run(const ChildInput& input);

 private:
  void Make();
  void Tell(uint32_t word);
  static int Await(void* self) noexcept;

  const uint64_t namespaces_;
  std::unique_ptr<char[]> stack_;
  sys::UniqueFd supervisor_;  // a pidfd of this process
  std::atomic<uint32_t> told_ = 0;
  const ChildInput* input_ = nullptr;
  long pid_ = 0;  // negative errno if there is none
  int pidfd_ = -1;
  std::thread thread_;
};

}  // namespace cordon::spawn
