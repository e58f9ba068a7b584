// What a tool is: a name, a schema, and a call from JSON to a result. The tools
// themselves are made in one file each and listed by Toolbox.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/json.h"
#include "cordon/outcome.h"
#include "cordon/result.h"
#include "cordon/sandbox.h"

namespace cordon::agent {

struct Parameter {
  enum class Type { kString, kInteger, kBoolean, kStrings, kStringMap };
  enum class Need { kOptional, kRequired };

  std::string_view name;
  Type type = Type::kString;
  Need need = Need::kOptional;
  std::string_view doc;
  int64_t least = 0;  // of an integer
  int64_t most = std::numeric_limits<int64_t>::max();
};

// What a call does to the world, for approvals.
enum class Effect { kReadOnly, kLocalMutation, kRemoteAction, kDestructive };
std::string_view EffectName(Effect effect);

struct ToolInfo {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::vector<Parameter> parameters;
  Effect effect = Effect::kReadOnly;
};

// JSON Schema of the arguments; MCP's hints about the tool.
Json InputSchema(const ToolInfo& info);
Json Annotations(const ToolInfo& info);

// The arguments as the schema wants them, and no others. Text has no NUL byte.
Status CheckArguments(const ToolInfo& info, const Json& arguments);

// Of checked arguments.
std::string TextOf(const Json& arguments, const char* name, std::string_view otherwise = {});
int64_t NumberOf(const Json& arguments, const char* name, int64_t otherwise);
enum class Switch { kOff, kOn };
Switch SwitchOf(const Json& arguments, const char* name, Switch otherwise = Switch::kOff);

// A person's word on one call. No answer is a denial.
enum class Consent { kDenied, kOnce, kForThisRun };

// What one call may use of its caller.
struct CallContext {
  Cancellation cancellation;
  // News of a long call, for a person; may be empty. Called on the call's thread.
  std::function<void(std::string_view)> progress;
  // Asks the person; empty: nobody can be asked, which means no.
  std::function<Consent(const std::string& question)> ask;
};

struct Attachment {
  std::string name;
  std::string mime_type;
  std::string bytes;
};

struct ToolResult {
  enum class State { kDone, kFailed };

  Json structured;   // for a program
  std::string text;  // for a model: made by result_text
  State state = State::kDone;
  std::vector<Violation> violations;
  std::vector<std::string> leaks;  // rules that found a secret, which is not there any more
  std::optional<Attachment> attachment;

  ToolResult() = default;
  ToolResult(Json structured_in, std::string text_in)
      : structured(std::move(structured_in)), text(std::move(text_in)) {}
};

struct Tool {
  ToolInfo info;
  std::function<Result<ToolResult>(const Json& arguments, CallContext& context)> call;
};

}  // namespace cordon::agent
