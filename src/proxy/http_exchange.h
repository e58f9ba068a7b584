// One HTTP request that is passed on, and what comes back.
#pragma once

#include <optional>
#include <string>

#include "proxy/connection.h"
#include "proxy/http_body.h"
#include "proxy/http_head.h"

namespace cordon::proxy {

// What a request is for.
struct Asked {
  guard::HostPort target;  // whom it goes to
  guard::HostPort named;   // its Host: the target, or a name that is asked for at an address
  std::string origin_form;
};

class Exchange {
 public:
  // It was decided on, and allowed.
  Exchange(Connection& connection, const RequestHead& head, Asked asked);

  // A refusal only while nothing has been said to the client. The connection's
  // upstream is used again if it is one to the same target.
  Task<std::optional<Refusal>> Run();

  // Whether the client's connection is where the next request may begin.
  bool reusable() const { return reusable_; }

 private:
  enum class Answer { kNone, kBroken, kComplete };

  Task<std::optional<Refusal>> Open();
  std::string RequestText() const;
  Task<std::optional<Refusal>> Converse();
  Task<void> SendBody();
  Task<void> Receive();
  Task<bool> ReceiveHead(ResponseHead& head);
  Task<bool> ReceiveFinalHead(ResponseHead& head);
  Task<bool> ReceiveBody(const ResponseHead& head);
  Task<bool> ReadUpstream();
  Task<void> Switch();
  void Drop();

  Connection& connection_;
  const RequestHead& head_;
  Asked asked_;
  std::string from_upstream_;  // read, not passed on yet
  std::string problem_;
  Answer answer_ = Answer::kNone;
  KeepAlive upstream_keeps_ = KeepAlive::kNo;
  KeepAlive client_keeps_ = KeepAlive::kNo;
  bool body_sent_ = false;
  bool body_malformed_ = false;
  bool retryable_ = false;  // as far as is known yet
  bool reused_ = false;
  bool switched_ = false;  // to a websocket
  bool reusable_ = false;
};

}  // namespace cordon::proxy
