#include "agent/tool.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::agent {
namespace {

using Type = Parameter::Type;

Json TypeSchema(const Parameter& parameter) {
  switch (parameter.type) {
    case Type::kString:
      return {{"type", "string"}};
    case Type::kInteger: {
      Json schema = {{"type", "integer"}, {"minimum", parameter.least}};
      if (parameter.most != std::numeric_limits<int64_t>::max()) schema["maximum"] = parameter.most;
      return schema;
    }
    case Type::kBoolean:
      return {{"type", "boolean"}};
    case Type::kStrings:
      return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case Type::kStringMap:
      return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  }
  return {};
}

bool IsText(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

bool Fits(const Parameter& parameter, const Json& value) {
  switch (parameter.type) {
    case Type::kString:
      return IsText(value);
    case Type::kInteger: {
      // A model may write 60.0; no other fraction is meant.
      if (!value.is_number()) return false;
      double number = value.get<double>();
      return number >= static_cast<double>(parameter.least) &&
             number <= static_cast<double>(parameter.most) && number < 9e15 &&
             number == static_cast<double>(static_cast<int64_t>(number));
    }
    case Type::kBoolean:
      return value.is_boolean();
    case Type::kStrings:
      return value.is_array() && std::ranges::all_of(value, IsText);
    case Type::kStringMap:
      return value.is_object() && std::ranges::all_of(value, IsText);
  }
  return false;
}

Error Bad(const ToolInfo& info, const std::string& what, std::string hint = {}) {
  return base::InvalidArgument(Reason::kArgumentInvalid, std::string(info.name) + ": " + what,
                               std::move(hint));
}

std::string Range(const Parameter& parameter) {
  if (parameter.type != Type::kInteger) return {};
  std::string range = " of at least " + std::to_string(parameter.least);
  if (parameter.most != std::numeric_limits<int64_t>::max()) {
    range += " and at most " + std::to_string(parameter.most);
  }
  return range;
}

}  // namespace

std::string_view EffectName(Effect effect) {
  switch (effect) {
    case Effect::kReadOnly:
      return "read_only";
    case Effect::kLocalMutation:
      return "local_mutation";
    case Effect::kRemoteAction:
      return "remote_action";
    case Effect::kDestructive:
      return "destructive";
  }
  return "";
}

Json InputSchema(const ToolInfo& info) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Parameter& parameter : info.parameters) {
    Json schema = TypeSchema(parameter);
    schema["description"] = parameter.doc;
    properties[std::string(parameter.name)] = std::move(schema);
    if (parameter.need == Parameter::Need::kRequired) required.push_back(parameter.name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

Json Annotations(const ToolInfo& info) {
  bool reads = info.effect == Effect::kReadOnly;
  return {{"title", info.title},
          {"readOnlyHint", reads},
          {"destructiveHint", info.effect == Effect::kDestructive},
          {"idempotentHint", reads},
          {"openWorldHint", info.effect == Effect::kRemoteAction}};
}

Status CheckArguments(const ToolInfo& info, const Json& arguments) {
  if (!arguments.is_object()) return Bad(info, "the arguments must be an object");
  std::vector<std::string> names;
  for (const Parameter& parameter : info.parameters) {
    names.emplace_back(parameter.name);
    auto found = arguments.find(parameter.name);
    if (found == arguments.end()) {
      if (parameter.need == Parameter::Need::kOptional) continue;
      return Bad(info, "\"" + names.back() + "\" is missing");
    }
    if (!Fits(parameter, *found)) {
      std::string type = TypeSchema(parameter)["type"].get<std::string>();
      return Bad(info, "\"" + names.back() + "\" must be a JSON " + type + Range(parameter) +
                           (parameter.type == Type::kString ? " without NUL bytes" : ""));
    }
  }
  for (const auto& item : arguments.items()) {
    if (std::ranges::find(names, item.key()) != names.end()) continue;
    auto near = base::Nearest(item.key(), names);
    return Bad(info, "there is no argument \"" + base::Printable(item.key()) + "\"",
               near ? "did you mean \"" + *near + "\"?" : "it takes: " + base::Join(names, ", "));
  }
  return {};
}

std::string TextOf(const Json& arguments, const char* name, std::string_view otherwise) {
  auto found = arguments.find(name);
  return found == arguments.end() ? std::string(otherwise) : found->get<std::string>();
}

int64_t NumberOf(const Json& arguments, const char* name, int64_t otherwise) {
  auto found = arguments.find(name);
  return found == arguments.end() ? otherwise : static_cast<int64_t>(found->get<double>());
}

Switch SwitchOf(const Json& arguments, const char* name, Switch otherwise) {
  auto found = arguments.find(name);
  if (found == arguments.end()) return otherwise;
  return found->get<bool>() ? Switch::kOn : Switch::kOff;
}

}  // namespace cordon::agent
