// One MCP client: the protocol's state, its requests under way, and their answers.
// Knows nothing of how messages come and go.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/toolbox.h"
#include "mcp/json_rpc.h"

namespace cordon::mcp {

// Where the messages that belong to one request go. Send may be called from several
// threads; after End no more come.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void Send(const Json& message) = 0;
  virtual void End() {}
};

// What is served besides the tools.
struct Offer {
  std::string version;                      // of cordon
  std::string constraints;                  // what a model is told of the sandbox; may be empty
  std::function<std::string()> policy;      // the effective policy, as TOML
  std::function<std::string()> audit_tail;  // the last lines of the audit log
};

class Session {
 public:
  // `box` outlives it.
  Session(agent::Toolbox& box, const Offer& offer) : box_(box), offer_(offer) {}
  ~Session() { Close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Does not wait for a tool. Whatever the message, it is answered as the protocol says.
  void Handle(const Message& message, const std::shared_ptr<Outlet>& outlet);

  // Cancels all that is under way and waits for its end. After it nothing is handled.
  void Close();

 private:
  static constexpr size_t kMostCalls = 64;

  struct Call {
    Json id;
    agent::CallContext context;
    std::thread thread;
    bool cancelled = false;
    bool ended = false;
  };
  struct Question {
    bool answered = false;
    Json answer;  // null: an error
  };

  Json Answered(const Message& message);
  Json Initialize(const Message& message);
  Json ListTools() const;
  Json ListResources() const;
  Json ReadResource(const Message& message) const;
  Json GetPrompt(const Message& message) const;
  Json SetLevel(const Message& message);
  void StartCall(const Message& message, const std::shared_ptr<Outlet>& outlet);
  void RunCall(Call& call, const Message& message, Outlet& outlet);
  Json CallResult(const agent::ToolResult& result) const;
  agent::Consent Ask(const std::string& question, Call& call, Outlet& outlet);
  void Cancel(const Json& id);
  void TakeAnswer(const Message& message);
  void Log(const agent::ToolResult& result, std::string_view tool, Outlet& outlet) const;
  void Reap();

  agent::Toolbox& box_;
  const Offer& offer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Call> calls_;  // these are guarded by mutex_
  std::map<int64_t, Question> questions_;
  int64_t last_question_ = 0;
  std::string version_;  // negotiated; empty before `initialize`
  bool can_elicit_ = false;
  int log_level_ = 0;
  bool closed_ = false;
};

// The versions of the protocol that are spoken, the newest first.
extern const std::vector<std::string> kProtocolVersions;

}  // namespace cordon::mcp
