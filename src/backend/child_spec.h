// Runs in: supervisor (built here), child (read there).
//
// ChildSpec is everything that happens between clone and exec, frozen before
// the clone: a flat list of steps over descriptors and strings. spawn/child.cc
// runs it with raw system calls and nothing else; a step that fails ends the
// child, and its index tells the supervisor which one it was.
//
// A spec is a value: tests compare it, `cordon plan` prints it.
#pragma once

#include <linux/filter.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/flat_spec.h"

namespace cordon::backend {

struct Step {
  Op op;
  int slot = -1;
  int from = -1;
  std::string path;
  std::string data;
  uint64_t value = 0;
  uint64_t value2 = 0;
  Identity identity;  // zero: not checked
  bool operator==(const Step&) const = default;
};

struct LandlockRule {
  std::string path;
  uint64_t access = 0;
  bool optional = false;  // what is gone by then is not granted
  bool operator==(const LandlockRule&) const = default;
};

struct LandlockRules {
  uint64_t handled_fs = 0;
  uint64_t handled_net = 0;
  uint64_t scoped = 0;
  std::vector<LandlockRule> rules;
  bool operator==(const LandlockRules&) const = default;
};

struct SeccompProgram {
  const sock_filter* instructions = nullptr;
  uint16_t size = 0;
  bool operator==(const SeccompProgram&) const = default;
};

// Where bubblewrap puts the program that does the steps. Its /dev is its own.
inline constexpr std::string_view kStageProgram = "/dev/.cordon";
inline constexpr int kBubblewrapProgramFd = 12;  // has that program

struct BubblewrapSpec {
  std::string program;
  std::vector<std::string> arguments;
  bool operator==(const BubblewrapSpec&) const = default;
};

struct ChildSpec {
  uint64_t namespaces = 0;  // CLONE_NEW* flags
  // The steps are done inside of it, which makes the namespaces and mounts.
  std::optional<BubblewrapSpec> bubblewrap;
  std::vector<Step> steps;
  LandlockRules landlock;
  SeccompProgram seccomp;
  std::string init_options;              // init_protocol.h
  std::vector<std::string> argv;         // the command's
  std::string program;                   // what to execute: argv[0], or a path
  std::vector<std::string> environment;  // "NAME=value"
  bool operator==(const ChildSpec&) const = default;
};

// "attach /w/.git/hooks": what a person reads of a step.
std::string Describe(const Step& step);
// Of the step at `index`; past the last it is what comes before all steps.
std::string DescribeStep(const ChildSpec& spec, uint64_t index);

}  // namespace cordon::backend
