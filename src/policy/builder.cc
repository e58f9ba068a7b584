#include <cstdlib>

#include "cordon/policy_builder.h"
#include "policy/preset.h"
#include "policy/reader.h"

namespace cordon {

PolicyBuilder::PolicyBuilder(std::string workspace) : workspace_(std::move(workspace)) {}

PolicyBuilder& PolicyBuilder::Preset(std::string_view name) {
  presets_.emplace_back(name);
  return *this;
}

PolicyBuilder& PolicyBuilder::Set(std::string_view key, std::string_view value) {
  values_.emplace_back(key, value);
  return *this;
}

PolicyBuilder& PolicyBuilder::SetVariable(std::string_view name, std::string_view value) {
  return Set("env.set", std::string(name) + "=" + std::string(value));
}

PolicyBuilder& PolicyBuilder::WallTime(uint64_t milliseconds) {
  return Set("limits.wall", std::to_string(milliseconds) + "ms");
}

PolicyBuilder& PolicyBuilder::ExternalProxy(int http, int socks) {
  http_ = http;
  socks_ = socks;
  return *this;
}

PolicyBuilder& PolicyBuilder::Exclude(std::string_view command) {
  excluded_.emplace_back(command);
  return *this;
}

PolicyBuilder& PolicyBuilder::AllowUnsandboxed() {
  unsandboxed_ = true;
  return *this;
}

Result<Policy> PolicyBuilder::Build() const {
  if (!workspace_.starts_with('/')) {
    return Error{.code = Code::kInvalidArgument,
                 .reason = Reason::kWorkspaceInvalid,
                 .message = "the workspace must be absolute"};
  }
  const char* home = std::getenv("HOME");
  policy::Context context{.home = home == nullptr ? "" : home, .workspace = workspace_};
  Policy policy;
  if (!presets_.empty()) {
    CORDON_ASSIGN_OR_RETURN(policy, policy::Presets(presets_, context));
  }
  for (const auto& [key, value] : values_) {
    CORDON_ASSIGN_OR_RETURN(policy,
                            policy::Assign({key, value, "builder"}, context, std::move(policy)));
  }
  for (const std::string& command : excluded_) {
    CORDON_TRY(policy::CheckWord(command));
    policy.exec.excluded.push_back({command, {"builder", 0}});
  }
  if (unsandboxed_) policy.exec.allow_unsandboxed = true;
  if (http_ != 0 || socks_ != 0) policy.net.external = {.http = http_, .socks = socks_};
  return policy;
}

}  // namespace cordon
