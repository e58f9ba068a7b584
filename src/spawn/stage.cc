// Runs in: the stage inside of bubblewrap. No libc.
#include "spawn/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <linux/stat.h>

#include "backend/init_protocol.h"
#include "spawn/child.h"
#include "sys/raw.h"

namespace cordon::spawn {
namespace {

using backend::FlatRule;
using backend::FlatSpec;
using backend::FlatStep;
using raw::Arg;
using raw::Syscall;

// The supervisor wrote and sealed it: its distances are not doubted.
template <typename T>
void Relocate(const T*& pointer, char* base) noexcept {
  pointer = reinterpret_cast<const T*>(base + reinterpret_cast<size_t>(pointer));
}

void RelocateWords(const char* const* words, char* base) noexcept {
  for (const char** word = const_cast<const char**>(words); *word != nullptr; ++word) {
    Relocate(*word, base);
  }
}

const FlatSpec* MapSpec() noexcept {
  struct statx status;
  long result = Syscall(__NR_statx, kStageSpecFd, Arg(""), AT_EMPTY_PATH, STATX_SIZE, Arg(&status));
  if (result < 0) return nullptr;
  long at = Syscall(__NR_mmap, 0, static_cast<long>(status.stx_size), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE, kStageSpecFd, 0);
  if (at < 0 && at > -4096) return nullptr;
  char* base = reinterpret_cast<char*>(at);
  FlatSpec* spec = reinterpret_cast<FlatSpec*>(base);
  Relocate(spec->steps, base);
  Relocate(spec->rules, base);
  Relocate(spec->filter, base);
  Relocate(spec->init_argv, base);
  Relocate(spec->environment, base);
  for (uint64_t i = 0; i < spec->step_count; ++i) {
    FlatStep& step = const_cast<FlatStep&>(spec->steps[i]);
    Relocate(step.path, base);
    Relocate(step.data, base);
  }
  for (uint64_t i = 0; i < spec->rule_count; ++i) {
    Relocate(const_cast<FlatRule&>(spec->rules[i]).path, base);
  }
  RelocateWords(spec->init_argv, base);
  RelocateWords(spec->environment, base);
  return spec;
}

}  // namespace

void RunStage() noexcept {
  const FlatSpec* spec = MapSpec();
  if (spec == nullptr) raw::ExitGroup(125);
  ChildInput input{};
  input.spec = spec;
  input.fds = {{kStageStreams[0], kStageStreams[1], kStageStreams[2]},
               backend::kControlFd,
               backend::kStatusFd,
               kListenerSocketFd,
               kInitProgramFd};
  raw::ExitGroup(RunChild(input));
}

}  // namespace cordon::spawn
