#include "mcp/session.h"

#include <algorithm>
#include <array>
#include <exception>

#include "agent/result_text.h"
#include "base/base64.h"
#include "base/strings.h"
#include "sys/signals.h"

namespace cordon::mcp {
namespace {

using agent::ToolResult;

constexpr char kPolicyUri[] = "cordon://policy";
constexpr char kAuditUri[] = "cordon://audit";
constexpr char kPromptName[] = "constraints";
constexpr char kStructuredSince[] = "2025-06-18";
constexpr std::chrono::minutes kAnswerWithin{10};
// Of RFC 5424, from the least.
constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};
constexpr int kWarning = 3;

std::string StringOf(const Json& params, const char* name) {
  auto found = params.find(name);
  return found != params.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json Text(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

Json AttachmentContent(const agent::Attachment& file) {
  std::string data = base::ToBase64(file.bytes);
  if (file.mime_type.starts_with("image/") && file.mime_type != "image/svg+xml") {
    return {{"type", "image"}, {"data", std::move(data)}, {"mimeType", file.mime_type}};
  }
  std::string uri = "cordon://sent/";
  for (unsigned char c : file.name) {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    bool plain = std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
    if (plain) {
      uri += static_cast<char>(c);
    } else {
      uri += {'%', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return {{"type", "resource"},
          {"resource", {{"uri", uri}, {"mimeType", file.mime_type}, {"blob", std::move(data)}}}};
}

}  // namespace

const std::vector<std::string> kProtocolVersions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                    "2024-11-05"};

void Session::Handle(const Message& message, const std::shared_ptr<Outlet>& outlet) {
  switch (message.kind) {
    case Message::Kind::kInvalid:
      if (!message.answer.is_null()) outlet->Send(message.answer);
      return outlet->End();
    case Message::Kind::kResponse:
      TakeAnswer(message);
      return outlet->End();
    case Message::Kind::kNotification:
      if (message.method == "notifications/cancelled" && message.params.contains("requestId")) {
        Cancel(message.params["requestId"]);
      }
      return outlet->End();
    case Message::Kind::kRequest:
      break;
  }
  if (message.method == "tools/call") return StartCall(message, outlet);
  Json answer;
  try {
    answer = Answered(message);
  } catch (const std::exception& error) {
    answer = Failure(message.id, RpcError::kInternal, error.what());
  }
  outlet->Send(answer);
  outlet->End();
}

Json Session::Answered(const Message& message) {
  const std::string& method = message.method;
  if (method == "ping") return Answer(message.id, Json::object());
  if (method == "initialize") return Initialize(message);
  {
    std::lock_guard lock(mutex_);
    if (version_.empty()) {
      return Failure(message.id, RpcError::kInvalidRequest, "`initialize` comes first");
    }
  }
  if (method.ends_with("/list") && message.params.contains("cursor")) {
    return Failure(message.id, RpcError::kInvalidParams, "there is no such cursor");
  }
  if (method == "tools/list") return Answer(message.id, ListTools());
  if (method == "resources/list") return Answer(message.id, ListResources());
  if (method == "resources/templates/list") {
    return Answer(message.id, {{"resourceTemplates", Json::array()}});
  }
  if (method == "resources/read") return ReadResource(message);
  if (method == "prompts/list") {
    Json prompts = Json::array();
    if (!offer_.constraints.empty()) {
      prompts.push_back({{"name", kPromptName},
                         {"title", "Constraints of the sandbox"},
                         {"description", "What the tools may and may not do here"}});
    }
    return Answer(message.id, {{"prompts", std::move(prompts)}});
  }
  if (method == "prompts/get") return GetPrompt(message);
  if (method == "logging/setLevel") return SetLevel(message);
  return Failure(message.id, RpcError::kMethodNotFound,
                 "there is no method \"" + base::Printable(method) + "\"");
}

Json Session::Initialize(const Message& message) {
  std::string wanted = StringOf(message.params, "protocolVersion");
  if (wanted.empty()) {
    return Failure(message.id, RpcError::kInvalidParams, "\"protocolVersion\" is missing");
  }
  bool known = std::ranges::find(kProtocolVersions, wanted) != kProtocolVersions.end();
  std::lock_guard lock(mutex_);
  if (!version_.empty()) {
    return Failure(message.id, RpcError::kInvalidRequest, "it was initialized already");
  }
  version_ = known ? wanted : kProtocolVersions.front();
  auto capabilities = message.params.find("capabilities");
  can_elicit_ = capabilities != message.params.end() && capabilities->is_object() &&
                capabilities->contains("elicitation");
  Json result = {
      {"protocolVersion", version_},
      {"capabilities",
       {{"tools", Json::object()},
        {"resources", Json::object()},
        {"prompts", Json::object()},
        {"logging", Json::object()}}},
      {"serverInfo", {{"name", "cordon"}, {"title", "Cordon"}, {"version", offer_.version}}}};
  if (!offer_.constraints.empty()) result["instructions"] = offer_.constraints;
  return Answer(message.id, std::move(result));
}

Json Session::ListTools() const {
  Json tools = Json::array();
  for (const agent::Tool& tool : box_.tools()) {
    tools.push_back({{"name", tool.info.name},
                     {"title", tool.info.title},
                     {"description", tool.info.description},
                     {"inputSchema", agent::InputSchema(tool.info)},
                     {"annotations", agent::Annotations(tool.info)}});
  }
  return {{"tools", std::move(tools)}};
}

Json Session::ListResources() const {
  Json resources = Json::array();
  resources.push_back({{"uri", kPolicyUri},
                       {"name", "policy"},
                       {"title", "The effective policy"},
                       {"mimeType", "application/toml"}});
  if (offer_.audit_tail) {
    resources.push_back({{"uri", kAuditUri},
                         {"name", "audit"},
                         {"title", "The last events of the audit log"},
                         {"mimeType", "application/jsonl"}});
  }
  return {{"resources", std::move(resources)}};
}

Json Session::ReadResource(const Message& message) const {
  std::string uri = StringOf(message.params, "uri");
  auto contents = [&](const char* type, std::string text) {
    Json item = {{"uri", uri}, {"mimeType", type}, {"text", std::move(text)}};
    return Answer(message.id, {{"contents", Json::array({std::move(item)})}});
  };
  if (uri == kPolicyUri) return contents("application/toml", offer_.policy());
  if (uri == kAuditUri && offer_.audit_tail) {
    return contents("application/jsonl", offer_.audit_tail());
  }
  return Failure(message.id, RpcError::kNotFound, "there is no such resource");
}

Json Session::GetPrompt(const Message& message) const {
  if (StringOf(message.params, "name") != kPromptName || offer_.constraints.empty()) {
    return Failure(message.id, RpcError::kInvalidParams, "there is no such prompt");
  }
  Json said = {{"role", "user"}, {"content", Text(offer_.constraints)}};
  return Answer(message.id, {{"messages", Json::array({std::move(said)})}});
}

Json Session::SetLevel(const Message& message) {
  auto found = std::ranges::find(kLevels, StringOf(message.params, "level"));
  if (found == kLevels.end()) {
    return Failure(message.id, RpcError::kInvalidParams, "there is no such level");
  }
  std::lock_guard lock(mutex_);
  log_level_ = static_cast<int>(found - kLevels.begin());
  return Answer(message.id, Json::object());
}

void Session::StartCall(const Message& message, const std::shared_ptr<Outlet>& outlet) {
  auto refuse = [&](RpcError code, std::string_view why) {
    outlet->Send(Failure(message.id, code, why));
    outlet->End();
  };
  std::unique_lock lock(mutex_);
  if (closed_) return outlet->End();
  if (version_.empty()) {
    lock.unlock();
    return refuse(RpcError::kInvalidRequest, "`initialize` comes first");
  }
  Reap();
  bool twice = std::ranges::any_of(calls_, [&](const Call& c) { return c.id == message.id; });
  bool full = calls_.size() >= kMostCalls;
  if (twice || full) {
    lock.unlock();
    return twice ? refuse(RpcError::kInvalidRequest, "a request with this id is under way")
                 : refuse(RpcError::kBusy, "too many calls are under way");
  }
  Call& call = calls_.emplace_back();
  call.id = message.id;
  sys::SignalsBlocked blocked;  // signals are for the main thread
  try {
    call.thread = std::thread([this, &call, message, outlet] { RunCall(call, message, *outlet); });
  } catch (const std::exception&) {
    calls_.pop_back();
    lock.unlock();
    refuse(RpcError::kBusy, "no thread can be started");
  }
}

void Session::RunCall(Call& call, const Message& message, Outlet& outlet) {
  std::string name = StringOf(message.params, "name");
  Json arguments =
      message.params.contains("arguments") ? message.params["arguments"] : Json::object();
  Json answer;
  try {
    Json token;
    if (auto meta = message.params.find("_meta");
        meta != message.params.end() && meta->is_object()) {
      if (meta->contains("progressToken")) token = (*meta)["progressToken"];
    }
    int64_t steps = 0;
    if (token.is_string() || token.is_number_integer()) {
      call.context.progress = [&](std::string_view news) {
        outlet.Send(Notification(
            "notifications/progress",
            {{"progressToken", token}, {"progress", ++steps}, {"message", std::string(news)}}));
      };
    }
    call.context.ask = [&](const std::string& question) { return Ask(question, call, outlet); };
    Result<ToolResult> result = box_.Call(name, arguments, call.context);
    if (result) {
      Log(*result, name, outlet);
      answer = Answer(call.id, CallResult(*result));
    } else {
      answer = Failure(call.id, RpcError::kInvalidParams, result.error().message);
    }
  } catch (const std::exception& error) {
    answer = Failure(call.id, RpcError::kInternal, error.what());
  }
  std::unique_lock lock(mutex_);
  bool wanted = !call.cancelled && !closed_;
  lock.unlock();
  if (wanted) outlet.Send(answer);  // what was cancelled gets no answer
  outlet.End();
  lock.lock();
  call.ended = true;
  changed_.notify_all();
}

Json Session::CallResult(const ToolResult& result) const {
  Json content = Json::array({Text(result.text)});
  if (result.attachment) content.push_back(AttachmentContent(*result.attachment));
  Json json = {{"content", std::move(content)}};
  std::lock_guard lock(mutex_);
  if (version_ >= kStructuredSince && result.structured.is_object()) {
    json["structuredContent"] = result.structured;
  }
  json["isError"] = result.state == ToolResult::State::kFailed;
  return json;
}

void Session::Log(const ToolResult& result, std::string_view tool, Outlet& outlet) const {
  {
    std::lock_guard lock(mutex_);
    if (result.violations.empty() || log_level_ > kWarning) return;
  }
  outlet.Send(Notification(
      "notifications/message",
      {{"level", kLevels[kWarning]},
       {"logger", "cordon"},
       {"data", {{"tool", tool}, {"violations", agent::ViolationsJson(result.violations)}}}}));
}

// The command it is about has not started; others run on.
agent::Consent Session::Ask(const std::string& question, Call& call, Outlet& outlet) {
  std::unique_lock lock(mutex_);
  if (!can_elicit_) return agent::Consent::kDenied;
  int64_t id = ++last_question_;
  questions_[id];
  lock.unlock();
  Json answer_schema = {{"type", "object"},
                        {"properties",
                         {{"decision",
                           {{"type", "string"},
                            {"title", "Decision"},
                            {"enum", {"allow once", "allow for this run", "deny"}}}}}},
                        {"required", {"decision"}}};
  outlet.Send(Request("cordon-" + std::to_string(id), "elicitation/create",
                      {{"message", question}, {"requestedSchema", std::move(answer_schema)}}));
  lock.lock();
  auto until = std::chrono::steady_clock::now() + kAnswerWithin;
  changed_.wait_until(lock, until,
                      [&] { return questions_[id].answered || call.cancelled || closed_; });
  Json answer = std::move(questions_[id].answer);
  questions_.erase(id);
  bool accepted = answer.is_object() && StringOf(answer, "action") == "accept" &&
                  answer.contains("content") && answer["content"].is_object();
  std::string decision = accepted ? StringOf(answer["content"], "decision") : "";
  if (decision == "allow once") return agent::Consent::kOnce;
  if (decision == "allow for this run") return agent::Consent::kForThisRun;
  return agent::Consent::kDenied;
}

void Session::TakeAnswer(const Message& message) {
  if (!message.id.is_string()) return;
  std::lock_guard lock(mutex_);
  for (auto& [id, question] : questions_) {
    if (message.id != "cordon-" + std::to_string(id)) continue;
    question.answered = true;
    question.answer = message.result;
  }
  changed_.notify_all();
}

void Session::Cancel(const Json& id) {
  std::lock_guard lock(mutex_);
  for (Call& call : calls_) {
    if (call.id != id || call.ended) continue;
    call.cancelled = true;
    call.context.cancellation.Cancel();
  }
  changed_.notify_all();
}

// Of those that have ended; their threads are at their last step.
void Session::Reap() {
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (!call->ended) {
      ++call;
      continue;
    }
    call->thread.join();
    call = calls_.erase(call);
  }
}

void Session::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (Call& call : calls_) call.context.cancellation.Cancel();
  changed_.notify_all();
  changed_.wait(lock, [&] { return std::ranges::all_of(calls_, &Call::ended); });
  Reap();
}

}  // namespace cordon::mcp
