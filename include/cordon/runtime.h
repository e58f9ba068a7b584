// For programs that start commands by themselves, or that confine themselves: what can
// be had here, a command line that is contained when it is started, and who may run
// outside. docs/api.md shows each beside the calls of other sandbox libraries.
//
// Nothing here runs a command without its boundary where one was asked for: what cannot
// be had is an error.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "cordon/sandbox.h"

namespace cordon {

// ---- what can be had ------------------------------------------------------------------

struct BackendReport {
  std::string name;
  bool available = false;
  std::string detail;  // what it is, or what is missing
  bool operator==(const BackendReport&) const = default;
};

struct Dependencies {
  std::string backend;  // that a run would take; "none": it would be refused
  bool available = false;
  std::string reason;  // why not, and what helps; empty if available
  std::vector<BackendReport> backends;
  std::vector<Enforcement> features;  // that a run could enforce
};

// Tries everything as a run would: some tens of milliseconds.
Dependencies CheckDependencies();

// Whether this platform has a backend at all.
bool IsSupported();

// Whether a run would be contained here. Asked once in a process.
bool IsAvailable();

// ---- command lines --------------------------------------------------------------------

// What the caller starts, as it likes: words, and variables to add to its own.
struct CommandLine {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  bool contained = true;
};

struct WrapOptions {
  std::string workspace;  // absolute; empty: the working directory
  std::string program;    // cordon; empty: /usr/bin/cordon or /usr/local/bin/cordon
};

// `cordon run` with exactly this policy (below the administrator's). The policy goes by a
// variable, so that no value of it shows in the list of processes.
Result<CommandLine> WrapCommand(const std::vector<std::string>& argv, const Policy& policy,
                                const WrapOptions& options);

// Everything is allowed but writing to system directories, and reading or writing data/ and
// config.toml of `data_dir`: the preset `protect`.
Result<CommandLine> ProtectedCommand(const std::vector<std::string>& argv,
                                     const std::string& data_dir, const WrapOptions& options);

// The variables that Cordon chooses for a command by this policy: proxy, temporary
// directory, path. All others are passed on or dropped as `env` says.
Result<std::map<std::string, std::string>> EnvironmentFor(const Policy& policy,
                                                          const SandboxOptions& options);

// ---- lines of an agent's shell --------------------------------------------------------

enum class Bypass {
  kNo,
  kAsked,  // the caller wants this one outside
};

enum class Placement { kInside, kOutside };

// Where a shell line runs. Outside only what the policy allows with `exec.allow_unsandboxed`:
// a line that is one simple command, literal, without redirection or assignment, whose first
// words are those of an entry of `exec.excluded`; or any line when that was asked for. Asking
// without that permission, or with trust = "require", is an error (`exec_denied`).
Result<Placement> PlaceCommand(std::string_view line, const Policy& policy, Bypass bypass);

struct TransformRequest {
  std::string line;       // for `sh -c`
  std::string workspace;  // absolute
  int proxy_port = 0;     // of a proxy of the caller's on the host's loopback; 0: Cordon's own
  Bypass bypass = Bypass::kNo;
  std::string program;  // as in WrapOptions
};

// The command line that runs it where PlaceCommand says. A proxy's port needs a policy with
// net.mode = "proxy" or "public": it narrows the way out, and never opens one.
Result<CommandLine> Transform(const TransformRequest& request, const Policy& policy);

// Whether a line needs no question before it runs: it runs inside, and every feature of
// the boundary is enforced in full here, now, by this policy.
bool MayAutoAllow(std::string_view line, const Policy& policy, const SandboxOptions& options);

// ---- this process ---------------------------------------------------------------------

// Confines the calling process and all that it starts, for good: no new privileges, no
// capability, Landlock and seccomp. It has no broker and no proxy beside it, so
//   - refused (`unsupported`): net.mode "proxy" and "public", host_ports, publish, credentials;
//     another thread is running; the process is root's;
//   - a denied path that exists inside a writable root cannot be told apart: refused, or with
//     on_unavailable = "warn" recorded as partial;
//   - names that do not exist yet (deny_new, the floor) are not kept from being made, unix
//     sockets can be connected to by their path, and the environment stays as it is: recorded.
// Returns what is enforced.
Result<std::vector<Enforcement>> ConfineSelf(const Policy& policy, const SandboxOptions& options);

}  // namespace cordon
