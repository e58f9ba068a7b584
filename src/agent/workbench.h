// Where the tools of one agent work: a workspace, a policy, and what both have to
// be for a command. Thread-safe: nothing of it changes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/leak_guard.h"
#include "plan/plan.h"
#include "session/session.h"

namespace cordon::agent {

// One command to be run inside.
struct CommandOrder {
  std::vector<std::string> argv;
  std::string directory;  // absolute
  std::map<std::string, std::string> environment;
  std::optional<uint64_t> wall_ms;  // never longer than the policy's
};

class Workbench {
 public:
  // kOneCall: the process ends with the call, and so would a command in the background.
  enum class Lifetime { kOneCall, kServer };

  // `request` as for a run in its workspace. `tools` is the directory of installed
  // tools: first in PATH, readable and not writable inside; it need not exist. An
  // error where no command could be run at all.
  static Result<Workbench> Create(session::Request request, const std::string& tools,
                                  Lifetime lifetime);

  const std::string& workspace() const { return request_.workspace; }
  const Policy& policy() const { return request_.policy; }
  const std::vector<Enforcement>& enforcement() const { return enforcement_; }
  host::Backend backend() const { return backend_; }
  const LeakGuard* leaks() const { return leaks_.get(); }  // null: nothing is scanned
  audit::Log* audit() const { return request_.audit.get(); }
  Lifetime lifetime() const { return lifetime_; }
  const std::map<std::string, std::string>& environment() const { return request_.environment; }

  // Without the secrets in it, if they are looked for; the rules that found some are
  // appended to `leaks`.
  std::string Redact(std::string text, std::vector<std::string>& leaks) const;

  // What a command would see now. Files come and go, so each call asks anew.
  Result<plan::Plan> PlanNow() const;
  session::Request RequestFor(CommandOrder order) const;

  // From the workspace, as the text says; `~` is the home.
  std::string Absolute(std::string_view path) const;
  // A directory in the workspace or in a writable root, resolved. Empty: the workspace.
  Result<std::string> WorkingDirectory(const std::string& path) const;

 private:
  Workbench(session::Request request, Lifetime lifetime)
      : request_(std::move(request)), lifetime_(lifetime) {}

  session::Request request_;
  Lifetime lifetime_;
  std::shared_ptr<const LeakGuard> leaks_;
  host::Backend backend_ = host::Backend::kNamespaces;
  std::vector<Enforcement> enforcement_;
};

// Where the tools of this user's agents are installed: in the policy's data_dir, or
// below the home.
std::string ToolsDirectory(const Policy& policy,
                           const std::map<std::string, std::string>& environment);

}  // namespace cordon::agent
