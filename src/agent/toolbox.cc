#include "agent/toolbox.h"

#include <algorithm>
#include <exception>

#include "agent/command_tools.h"
#include "agent/fetch_tool.h"
#include "agent/file_tools.h"
#include "agent/hook.h"
#include "agent/mode.h"
#include "agent/result_text.h"
#include "agent/search_tools.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/command_effects.h"
#include "host/backend.h"

namespace cordon::agent {
namespace {

// What only an agent that talks to a person has.
bool InRole(Role role, std::string_view tool) { return role == Role::kChat || tool != "send_file"; }

ToolResult Failed(const Error& error) {
  ToolResult result(
      Json{{"error", ReasonId(error.reason)}, {"message", base::Printable(error.message)}},
      Format(error, {}));
  if (!error.hint.empty()) result.structured["hint"] = base::Printable(error.hint);
  result.state = ToolResult::State::kFailed;
  return result;
}

bool RunsCommands(const Tool& tool) {
  return tool.info.name == "shell" || tool.info.name == "exec";
}

Error Terminated() {
  return {.code = Code::kDenied,
          .reason = Reason::kSecretFound,
          .message = "a secret was found before, and the policy ends all work then"};
}

// A command line is judged by its words, to be asked about and nothing else.
Effect EffectOf(const Tool& tool, const Json& arguments) {
  if (tool.info.name != "shell") return tool.info.effect;
  switch (guard::JudgeCommand(TextOf(arguments, "command")).effect) {
    case guard::Effect::kReadOnly:
      return Effect::kReadOnly;
    case guard::Effect::kRemote:
      return Effect::kRemoteAction;
    case guard::Effect::kDestructive:
      return Effect::kDestructive;
    case guard::Effect::kLocalChange:
    case guard::Effect::kUnknown:
      break;
  }
  return Effect::kLocalMutation;
}

// What the person is asked about, and only a line of it.
std::string Question(const Tool& tool, const Json& arguments) {
  std::string shown = arguments.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > 500) shown = shown.substr(0, 500) + "…";
  return "Allow " + std::string(tool.info.name) + "? " + shown;
}

}  // namespace

Result<Role> ParseRole(std::string_view name) {
  if (name == "worker") return Role::kWorker;
  if (name == "chat") return Role::kChat;
  return base::InvalidArgument(Reason::kUsage,
                               "a role is worker or chat, not \"" + base::Printable(name) + "\"");
}

Result<std::unique_ptr<Toolbox>> Toolbox::Create(Workbench bench, const ToolboxOptions& options) {
  std::unique_ptr<Toolbox> box(new Toolbox(std::move(bench), options));
  std::vector<std::string> names;
  auto add = [&](std::vector<Tool> tools) {
    for (Tool& tool : tools) {
      names.emplace_back(tool.info.name);
      bool wanted = options.only.empty()
                        ? InRole(options.role, tool.info.name)
                        : std::ranges::find(options.only, tool.info.name) != options.only.end();
      if (wanted) box->tools_.push_back(std::move(tool));
    }
  };
  add(CommandTools(box->bench_, box->jobs_));
  add(FileTools(box->bench_));
  add(SearchTools(box->bench_));
  std::vector<Tool> fetch;
  fetch.push_back(FetchTool(box->bench_));
  add(std::move(fetch));
  for (const std::string& name : options.only) {
    if (std::ranges::find(names, name) != names.end()) continue;
    auto near = base::Nearest(name, names);
    return base::InvalidArgument(
        Reason::kUsage, "there is no tool \"" + base::Printable(name) + "\"",
        near ? "did you mean \"" + *near + "\"?" : "there are: " + base::Join(names, ", "));
  }
  return box;
}

const Tool* Toolbox::Find(std::string_view name) const {
  auto found = std::ranges::find_if(tools_, [&](const Tool& t) { return t.info.name == name; });
  return found == tools_.end() ? nullptr : &*found;
}

Result<ToolResult> Toolbox::Call(std::string_view name, const Json& arguments,
                                 CallContext& context) {
  const Tool* tool = Find(name);
  if (tool == nullptr) {
    std::vector<std::string> names;
    for (const Tool& other : tools_) names.emplace_back(other.info.name);
    return base::InvalidArgument(Reason::kArgumentInvalid,
                                 "there is no tool \"" + base::Printable(name) + "\"",
                                 "there are: " + base::Join(names, ", "));
  }
  try {
    Result<ToolResult> result = CallChecked(*tool, arguments, context);
    return result ? std::move(*result) : Failed(result.error());
  } catch (const std::exception& error) {
    return Failed({.message = std::string(name) + ": " + error.what()});
  }
}

Result<ToolResult> Toolbox::CallChecked(const Tool& tool, Json arguments, CallContext& context) {
  CORDON_TRY(CheckArguments(tool.info, arguments));
  if (!options_.hook.empty()) {
    CORDON_ASSIGN_OR_RETURN(arguments, AskHook(options_.hook, tool.info.name, arguments));
    CORDON_TRY(CheckArguments(tool.info, arguments));
  }
  if (terminated_) return Terminated();
  const LeakGuard* leaks = bench_.leaks();
  if (leaks != nullptr) CORDON_TRY(leaks->CheckArguments(arguments));
  CORDON_TRY(Approve(tool, arguments, context));
  Result<ToolResult> result = tool.call(arguments, context);
  if (leaks == nullptr) return result;
  ToolResult guarded = leaks->Guard(result ? std::move(*result) : Failed(result.error()));
  if (!guarded.leaks.empty() && leaks->on_leak() == OnLeak::kTerminate) terminated_ = true;
  return guarded;
}

Status Toolbox::Approve(const Tool& tool, const Json& arguments, const CallContext& context) {
  ContainmentState state = ContainmentOf(host::BackendName(bench_.backend()), bench_.enforcement());
  bool contained = !RunsCommands(tool) || state == ContainmentState::kActive;
  bool held = contained || state == ContainmentState::kPartial;
  Approval approval = held ? Approval::kAllow : Approval::kAsk;
  Effect effect = EffectOf(tool, arguments);
  // Words are no reason to let something run that nothing holds.
  if (!contained) effect = std::max(effect, Effect::kLocalMutation);
  if (options_.approval) {
    approval =
        DecideApproval({.mode = *options_.approval,
                        .agent = options_.agent,
                        .effect = effect,
                        .place = Place::kInside,  // what lies outside the policy denies
                        .containment = contained ? Containment::kFull : Containment::kNotFull});
  }
  if (approval == Approval::kAllow) return {};
  Error denied{.code = Code::kDenied,
               .reason = Reason::kApprovalDenied,
               .message = std::string(tool.info.name) + " was not approved"};
  std::string key(tool.info.name);
  std::unique_lock lock(mutex_);
  if (approval == Approval::kAsk && approved_.contains(key)) return {};
  lock.unlock();
  if (approval == Approval::kDeny || !context.ask) {
    denied.hint = approval == Approval::kDeny
                      ? "this is not done here: only look, or ask the person to do it"
                      : "nobody can be asked here";
    return denied;
  }
  Consent consent = context.ask(Question(tool, arguments));
  if (consent == Consent::kDenied) return denied;
  lock.lock();
  if (consent == Consent::kForThisRun) approved_.insert(key);
  return {};
}

}  // namespace cordon::agent
