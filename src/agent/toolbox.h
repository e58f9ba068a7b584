// All the tools of one agent, and the one way to call them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/approval.h"
#include "agent/jobs.h"
#include "agent/tool.h"
#include "agent/workbench.h"

namespace cordon::agent {

// worker: does the work; chat: talks to a person, and may send files.
enum class Role { kWorker, kChat };
Result<Role> ParseRole(std::string_view name);

struct ToolboxOptions {
  Role role = Role::kWorker;
  std::vector<std::string> only;  // names; empty: all of the role
  // None: nobody is asked about what is contained, in full or in part.
  std::optional<ApprovalMode> approval;
  AgentKind agent = AgentKind::kTopLevel;
  std::string hook;  // a command line; empty: none
};

// Thread-safe: many calls at once. Ending it ends all commands.
class Toolbox {
 public:
  static Result<std::unique_ptr<Toolbox>> Create(Workbench bench, const ToolboxOptions& options);

  const std::vector<Tool>& tools() const { return tools_; }
  const Workbench& bench() const { return bench_; }
  const Tool* Find(std::string_view name) const;

  // Never throws. A call that was denied or could not be done is a result, too, with
  // state kFailed; an Error is for a tool that is not there.
  Result<ToolResult> Call(std::string_view name, const Json& arguments, CallContext& context);

 private:
  Toolbox(Workbench bench, ToolboxOptions options)
      : bench_(std::move(bench)), options_(std::move(options)) {}
  Result<ToolResult> CallChecked(const Tool& tool, Json arguments, CallContext& context);
  Status Approve(const Tool& tool, const Json& arguments, const CallContext& context);

  Workbench bench_;
  ToolboxOptions options_;
  Jobs jobs_;
  std::vector<Tool> tools_;
  std::atomic<bool> terminated_ = false;
  std::mutex mutex_;
  std::set<std::string> approved_;  // for this run, by tool and effect; guarded by mutex_
};

}  // namespace cordon::agent
