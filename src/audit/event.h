// What an audit log is made of: typed events, one line of JSON each. Version 1;
// docs/audit.md has the fields. A field may be added, none changes its meaning
// without a new version.
//
// Words from inside the sandbox are hostile: whatever an event holds, its line is
// valid UTF-8 without control characters, and of bounded length.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cordon/outcome.h"
#include "cordon/result.h"

namespace cordon::audit {

// run.start: before the command can do anything.
struct RunStart {
  std::vector<std::string> command;
  std::string directory;
  std::string workspace;
  std::vector<std::string> policy;  // where it came from: presets, files, flags
  std::string backend;              // "namespaces"
  std::vector<Enforcement> enforcement;
};

// run.end: the last event of a run, with the reason that the caller gets.
struct RunEnd {
  std::string_view outcome;  // "exited"; "refused": the command never ran
  Reason reason = Reason::kInternal;
  int exit_status = 0;
  std::string message;
  Usage usage;
  uint64_t denials = 0;  // repeated ones counted
  uint64_t lost = 0;     // events that could not be written
};

enum class NetOperation { kConnect, kLookup };
// By which way in.
enum class Via { kConnect, kHttp, kSocks, kCapture, kDns, kHostPort, kPublish };

// net.* for a connection, at its end; dns.* for a name that was asked for:
// .allow, .deny, or .fail for what was allowed and could not be done.
struct NetEvent {
  NetOperation operation = NetOperation::kConnect;
  Via via = Via::kConnect;
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied or failed
  std::string host;                   // as decided on, or as it was said if it cannot be read
  std::string address;                // connected to, or the one that was denied
  int port = 0;
  std::string rule;
  std::string hint;
  std::string detail;      // "upstream refused the connection"
  uint64_t bytes_out = 0;  // from the one who connected
  uint64_t bytes_in = 0;
  uint64_t duration_ms = 0;
};

// audit.full: no event but the end of the run follows.
struct Full {};

// A Violation is what the broker denied (fs.deny, unix.deny) or what a limit
// ended (limit.kill).
using Event = std::variant<RunStart, RunEnd, NetEvent, Violation, Full>;

struct Stamp {
  std::chrono::system_clock::time_point time;
  std::string_view run;  // which run it is of
};

std::string_view KindOf(const Event& event);

// One line, with its newline.
std::string ToLine(const Event& event, const Stamp& stamp);

}  // namespace cordon::audit
