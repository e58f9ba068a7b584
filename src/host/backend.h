// The ways to contain a command on Linux, and which of them this host can have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"
#include "host/doctor.h"

namespace cordon::host {

enum class Backend { kNamespaces, kBubblewrap, kLandlock, kNone };

// Whether what runs has its own mounts and pids.
constexpr bool HasNamespaces(Backend backend) {
  return backend == Backend::kNamespaces || backend == Backend::kBubblewrap;
}

std::string_view BackendName(Backend backend);
Result<Backend> ParseBackend(std::string_view name);

// What the landlock backend gives only in part, and why.
inline constexpr std::string_view kLandlockReads =
    "that a denied file exists, its size and its times can be seen; in a writable root a denied "
    "program can be executed";
inline constexpr std::string_view kLandlockProcesses =
    "no pid namespace: that a process exists can be seen";

struct BackendState {
  Backend backend;
  bool available = false;
  std::string detail;  // what it is, or what is missing
  bool operator==(const BackendState&) const = default;
};

// Pure: the table, best first. A run that names no backend takes the first that
// is available; `none` is taken only by name.
std::vector<BackendState> Backends(const std::vector<Finding>& findings);

// Pure: the first available one of the table; kNone: there is none.
Backend Choose(const std::vector<BackendState>& table);

// Tries what the table asks for, and nothing else.
std::vector<Finding> ExamineForChoice();

}  // namespace cordon::host
