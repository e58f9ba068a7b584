// Everything that one run will do, resolved, with nothing done yet. A value:
// printed by `cordon plan`, compared in tests, turned into child instructions
// by a backend.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "host/backend.h"
#include "host/bubblewrap.h"
#include "host/facts.h"
#include "host/path_probe.h"
#include "plan/fs_plan.h"
#include "plan/net_plan.h"

namespace cordon::plan {

struct Command {
  std::vector<std::string> argv;
  std::string directory;  // absolute; inside the workspace or another readable root
  bool operator==(const Command&) const = default;
};

// Streams that are a terminal of the caller's become a pseudo-terminal of the
// sandbox's own; only an interactive shell has it as its controlling one.
enum class Terminal { kNone, kStreams, kControlling };

// What may be executed without namespaces, where Landlock alone decides that: a
// tree, or a file that was found beside something that is not readable.
struct Program {
  std::string path;
  bool directory = true;
  bool sibling = false;  // listed, not named: it may be gone when the run starts
  bool operator==(const Program&) const = default;
};

// The limits that a cgroup of the run's own holds.
struct CgroupLimits {
  bool memory = false;
  bool processes = false;
  bool operator==(const CgroupLimits&) const = default;
};

struct Plan {
  host::Backend backend = host::Backend::kNamespaces;
  host::Bubblewrap bubblewrap;  // of that backend
  Command command;
  FsPlan fs;
  std::vector<std::string> environment;          // "NAME=value", sorted
  std::vector<std::string> dropped_environment;  // dangerous names that were there
  // Names whose value the policy or Cordon chose; all others were passed on and
  // may be secrets.
  std::vector<std::string> chosen_environment;
  NetPlan net;
  std::vector<PrivateFile> files;
  bool nesting = false;
  LimitPolicy limits;
  CgroupLimits cgroup;
  Terminal terminal = Terminal::kNone;
  unsigned terminal_streams = 0;  // bit n: stream n
  std::vector<std::string> devices;
  std::vector<std::string> masked_system;  // files of /proc that are nobody's business inside
  int landlock_abi = 0;
  // Without namespaces: a directory of this run's own on the host, with `tmp`,
  // `shm`, `proc` and `dev` in it.
  std::string private_directory;
  std::vector<Program> programs;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<Enforcement> enforcement;
  bool operator==(const Plan&) const = default;
};

struct PlanInputs {
  const Policy& policy;
  const host::Facts& facts;
  const host::PathProbe& probe;
  Command command;
  std::string workspace;                           // absolute, canonical, a directory
  std::map<std::string, std::string> environment;  // the caller's
  Terminal terminal = Terminal::kNone;
  unsigned terminal_streams = 0;
  FsInputs::Floor floor = FsInputs::Floor::kOn;
  host::Backend backend = host::Backend::kNamespaces;
  host::Bubblewrap bubblewrap;    // see Plan; probed
  std::string private_directory;  // see Plan; made before a run, empty for a plan alone
  CgroupLimits cgroup;            // made before a run
  int proxy_port = kProxyPort;    // without namespaces: where the host's loopback was free
  std::string cache_directory;    // where private caches persist; empty: nowhere
  std::string state_directory;    // Cordon's own, if not below the home
  std::string program;            // the cordon that the command may execute, canonical; or empty
};

// Refuses what cannot be enforced: policy keys whose mechanism is not built yet
// (`unsupported`, naming the key), and features that `require` names but this
// machine cannot give in full.
Result<Plan> MakePlan(const PlanInputs& inputs);

// The plan as text for a person, and as JSON. Neither has the value of a
// variable that was passed on. The text counts the protected names where there
// are many; the JSON lists them all.
std::string Describe(const Plan& plan);
std::string ToJson(const Plan& plan);

}  // namespace cordon::plan
