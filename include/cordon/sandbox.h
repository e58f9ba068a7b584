// Run commands inside the boundaries of a policy.
//
//   auto sandbox = cordon::Sandbox::Create(policy, {.workspace = "/home/me/project"});
//   auto outcome = sandbox->Run({.argv = {"make", "test"}});
//   if (outcome && outcome->kind == cordon::OutcomeKind::kExited) …
//
// A Sandbox is a value of settings: it holds no process. Each Run is a sandbox
// of its own. Run may be called from several threads at once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cordon/outcome.h"
#include "cordon/policy.h"

namespace cordon {

// Ends a run from another thread. Copies are the same token.
class Cancellation {
 public:
  Cancellation();
  void Cancel() const;
  bool cancelled() const;
  int fd() const;  // readable once cancelled; -1 if none could be made

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct CommandRequest {
  std::vector<std::string> argv;
  std::string directory;  // empty: the workspace
  const Cancellation* cancellation = nullptr;
};

struct SandboxOptions {
  std::string workspace;                           // absolute
  std::map<std::string, std::string> environment;  // the caller's; empty: this process's
};

class Sandbox {
 public:
  static Result<Sandbox> Create(Policy policy, SandboxOptions options);

  // Output is captured, at most `limits.output` (1 MiB without one) of each
  // stream; stdin is empty. An Error means that the command never ran. Refuses
  // to run in a process of root's (reason `unsupported`): such a process would
  // have to give up root altogether, as the `cordon` program does.
  Result<Outcome> Run(const CommandRequest& request) const;

  const Policy& policy() const { return policy_; }

 private:
  Sandbox(Policy policy, SandboxOptions options)
      : policy_(std::move(policy)), options_(std::move(options)) {}
  Policy policy_;
  SandboxOptions options_;
};

}  // namespace cordon
