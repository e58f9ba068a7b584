#include "mcp/json_rpc.h"

#include <exception>

namespace cordon::mcp {
namespace {

bool IsId(const Json& id) { return id.is_string() || id.is_number_integer(); }

Message Invalid(const Json& id, RpcError code, std::string_view why) {
  Message message;
  message.answer = Failure(id, code, why);
  return message;
}

Message ReadResponse(const Json& json) {
  Message message;
  bool answered = json.contains("result") != json.contains("error");
  if (!answered || !IsId(json["id"])) {
    message.answer = nullptr;  // nobody waits for an answer to an answer
    return message;
  }
  message.kind = Message::Kind::kResponse;
  message.id = json["id"];
  if (json.contains("result")) message.result = json["result"];
  return message;
}

}  // namespace

std::optional<Json> ParseJson(std::string_view text) {
  try {
    Json json = Json::parse(
        text,
        [](int depth, Json::parse_event_t, const Json&) {
          if (depth > kDeepest) throw std::length_error("too deep");
          return true;
        },
        /*allow_exceptions=*/false);
    if (json.is_discarded()) return std::nullopt;
    return json;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

Message ReadMessage(std::string_view text) {
  std::optional<Json> json = ParseJson(text);
  if (!json)
    return Invalid(nullptr, RpcError::kParse, "this is not JSON, or it is nested too deep");
  return MessageOf(*json);
}

Message MessageOf(const Json& json) {
  if (!json.is_object()) {
    return Invalid(nullptr, RpcError::kInvalidRequest, "a message is one JSON object");
  }
  bool has_id = json.contains("id");
  Json id = has_id && IsId(json["id"]) ? json["id"] : Json(nullptr);
  if (!json.contains("jsonrpc") || json["jsonrpc"] != "2.0") {
    return Invalid(id, RpcError::kInvalidRequest, "\"jsonrpc\" must be \"2.0\"");
  }
  if (has_id && !json.contains("method")) return ReadResponse(json);
  if (!json.contains("method") || !json["method"].is_string()) {
    return Invalid(id, RpcError::kInvalidRequest, "\"method\" must be a string");
  }
  if (has_id && id.is_null()) {
    return Invalid(id, RpcError::kInvalidRequest, "\"id\" must be a string or an integer");
  }
  Message message;
  message.method = json["method"].get<std::string>();
  message.params = json.contains("params") ? json["params"] : Json::object();
  if (!message.params.is_object()) {
    if (!has_id) return Invalid(nullptr, RpcError::kInvalidRequest, "\"params\" must be an object");
    return Invalid(id, RpcError::kInvalidParams, "\"params\" must be an object");
  }
  message.kind = has_id ? Message::Kind::kRequest : Message::Kind::kNotification;
  message.id = id;
  return message;
}

Json Answer(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json Failure(const Json& id, RpcError code, std::string_view text) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", static_cast<int>(code)}, {"message", text}}}};
}

Json Notification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

Json Request(const Json& id, std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

std::string Line(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cordon::mcp
