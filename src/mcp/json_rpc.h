// JSON-RPC 2.0 as MCP has it: one message, read strictly, and the answers to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/json.h"

namespace cordon::mcp {

using agent::Json;

enum class RpcError : int {
  kParse = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternal = -32603,
  kNotFound = -32002,  // a resource
  kBusy = -32000,
};

struct Message {
  enum class Kind { kRequest, kNotification, kResponse, kInvalid };
  Kind kind = Kind::kInvalid;
  Json id;             // of a request or a response: a string or a number
  std::string method;  // of a request or a notification
  Json params;         // an object
  Json result;         // of a response; null where it is an error
  Json answer;         // of what is invalid: what to answer
};

// Deeper JSON is not read.
inline constexpr int kDeepest = 64;

// Reads one message. Never throws.
Message ReadMessage(std::string_view text);
// The same of JSON that was read already.
Message MessageOf(const Json& json);
// Nothing if it is no JSON, or too deep.
std::optional<Json> ParseJson(std::string_view text);

Json Answer(const Json& id, Json result);
Json Failure(const Json& id, RpcError code, std::string_view text);
Json Notification(std::string_view method, Json params);
Json Request(const Json& id, std::string_view method, Json params);

// In one line; bytes that are not UTF-8 are replaced.
std::string Line(const Json& message);

}  // namespace cordon::mcp
