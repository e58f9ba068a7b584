// The host's bubblewrap: where it is, and what it can do here, by a run with the flags
// that a sandbox has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"
#include "host/doctor.h"
#include "host/userns_probe.h"

namespace cordon::host {

struct Bubblewrap {
  std::string program;
  std::string version;  // "0.8.0"
  bool setuid = false;  // it makes no user namespace then
  bool proc = true;     // whether it can mount a /proc
  bool operator==(const Bubblewrap&) const = default;
};

inline constexpr std::string_view kSetuid = ", setuid";  // ends the detail of its finding

enum class OwnNetwork { kYes, kNo };

// The namespaces, /dev and /proc of every run.
std::vector<std::string> BubblewrapFlags(const Bubblewrap& bubblewrap, OwnNetwork network);

// Pure: "bubblewrap 0.8.0\n" is 0.8.0 or later.
bool IsRecentBubblewrap(std::string_view version);

// Pure: what bubblewrap means by its last words, and what helps.
Cause BubblewrapCause(std::string_view said);

// Looks only where the system has it, never in PATH, and takes only a file that root alone
// can change; then runs it. As the user of a run, where this process is root's.
Result<Bubblewrap> ProbeBubblewrap();

Finding ExamineBubblewrap();

}  // namespace cordon::host
