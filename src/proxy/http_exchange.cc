#include "proxy/http_exchange.h"

#include <array>

#include "proxy/reach.h"
#include "proxy/tls_link.h"
#include "proxy/tunnel.h"

namespace cordon::proxy {
namespace {

constexpr size_t kMaxResponseHead = 64 * 1024;
constexpr size_t kReadBytes = 16 * 1024;
constexpr int kMostInterim = 100;

// RFC 9110 9.2.1, less TRACE: asking twice is as good as once.
bool IsSafe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

}  // namespace

Exchange::Exchange(Connection& connection, const RequestHead& head, Asked asked)
    : connection_(connection),
      head_(head),
      asked_(std::move(asked)),
      retryable_(head.body.kind == BodyKind::kNone && IsSafe(head.method)) {}

Task<std::optional<Refusal>> Exchange::Run() {
  auto refusal = co_await Open();
  if (!refusal) refusal = co_await Converse();
  // A kept connection may have been closed by its server just now; what changes
  // nothing there can be asked again.
  if (refusal && reused_ && answer_ == Answer::kNone && retryable_) {
    Drop();
    refusal = co_await Open();
    if (!refusal) refusal = co_await Converse();
  }
  if (switched_) co_return std::nullopt;
  bool complete = answer_ == Answer::kComplete && body_sent_;
  reusable_ = complete && client_keeps_ == KeepAlive::kYes;
  if (!complete || upstream_keeps_ == KeepAlive::kNo) Drop();
  if (answer_ == Answer::kComplete && !reusable_) co_await connection_.Linger();
  co_return refusal;
}

Task<std::optional<Refusal>> Exchange::Open() {
  reused_ = connection_.upstream && connection_.target() == asked_.target;
  if (reused_) co_return std::nullopt;
  Drop();
  Purpose purpose = connection_.secure() ? Purpose::kHttpsRequest : Purpose::kHttpRequest;
  co_return co_await Reach(connection_, asked_.target, purpose);
}

void Exchange::Drop() {
  connection_.upstream.reset();
  connection_.Finish();
}

std::string Exchange::RequestText() const {
  bool secure = connection_.secure();
  bool usual = asked_.target.port == (secure ? 443 : 80);
  auto text_of = [&](const guard::HostPort& at) {
    return usual ? guard::ToString(at.host) : guard::ToString(at);
  };
  std::string host = text_of(asked_.named);
  if (secure) {
    const auto& secrets = connection_.server.options.secrets;
    return FormatRequest(WithSecrets(head_, secrets, asked_.target), asked_.origin_form, host);
  }
  const ParentProxy* parent = HttpParentFor(connection_.server, asked_.target);
  if (parent == nullptr) return FormatRequest(head_, asked_.origin_form, host);
  std::string text =
      FormatRequest(head_, "http://" + text_of(asked_.target) + asked_.origin_form, host);
  if (parent->user.empty()) return text;
  text.insert(text.size() - 2, "Proxy-Authorization: " + BasicCredentials(*parent) + "\r\n");
  return text;
}

Task<std::optional<Refusal>> Exchange::Converse() {
  problem_.clear();
  from_upstream_.clear();
  body_sent_ = head_.body.kind == BodyKind::kNone;
  std::string text = RequestText();
  connection_.event().bytes_out += text.size();
  ErrorCode failed = co_await WriteAll(*connection_.upstream, text);
  bool sent = !failed;
  if (sent && body_sent_) {
    co_await Receive();
  } else if (sent) {
    co_await Both(SendBody(), Receive());
  }
  if (switched_ || answer_ != Answer::kNone) co_return std::nullopt;
  if (problem_.empty()) problem_ = "the server closed the connection";
  Refusal refusal = Refusal::Failed(problem_);
  if (body_malformed_) {
    refusal = {.reason = Reason::kRequestInvalid, .detail = "the request's body is malformed"};
  }
  refusal.address = connection_.event().address;
  co_return refusal;
}

Task<void> Exchange::SendBody() {
  BodyReader reader(head_.body);
  std::string out;
  while (!reader.done()) {
    if (connection_.in.empty()) {
      bool more = co_await connection_.ReadMore();
      if (!more) break;
    }
    out.clear();
    auto taken = reader.Read(connection_.in, out);
    body_malformed_ = !taken;
    if (!taken) break;
    connection_.in.erase(0, *taken);
    connection_.idle.Touch();
    connection_.event().bytes_out += out.size();
    ErrorCode failed = co_await WriteAll(*connection_.upstream, out);
    if (failed) co_return;  // an answer may still come
  }
  body_sent_ = reader.done();
  // Half a request must not be left standing: its server would wait for the rest.
  if (!body_sent_ && answer_ != Answer::kComplete) {
    problem_ = "the request's body is not complete";
    Reset(*connection_.upstream);
  }
}

Task<void> Exchange::Receive() {
  ResponseHead head;
  bool received = co_await ReceiveFinalHead(head);
  if (!received) {
    Reset(*connection_.upstream);  // ends the sending of a body too
    co_return;
  }
  bool framed = !head.has_body || head.body.kind != BodyKind::kUntilClose;
  upstream_keeps_ = framed ? head.keep_alive : KeepAlive::kNo;
  // A client that knows of no proxy waits for the end that its server announced.
  client_keeps_ = upstream_keeps_ == KeepAlive::kYes ? head_.keep_alive : KeepAlive::kNo;
  std::string text = FormatResponse(head, client_keeps_);
  connection_.event().bytes_in += text.size();
  answer_ = Answer::kBroken;
  bool complete = co_await connection_.Write(text);
  if (complete && head.status == 101) {
    co_await Switch();
    co_return;
  }
  if (complete) complete = co_await ReceiveBody(head);
  if (complete) answer_ = Answer::kComplete;
  // A client must not take half an answer for a whole one.
  if (answer_ == Answer::kBroken) connection_.ResetClient();
  // An answer before the end of the request: the rest of it is not read.
  ErrorCode ignored;
  if (!body_sent_ && connection_.client.is_open()) connection_.client.cancel(ignored);
}

// Interim answers are passed on as they come: a client may wait for 100 with its
// body.
Task<bool> Exchange::ReceiveFinalHead(ResponseHead& head) {
  for (int interim = 0; interim <= kMostInterim; ++interim) {
    bool received = co_await ReceiveHead(head);
    if (!received) co_return false;
    if (head.status >= 200 || (head.status == 101 && head_.wants_websocket)) co_return true;
    if (head.status == 101) {
      problem_ = "the server changes to a protocol nobody asked for";
      co_return false;
    }
    retryable_ = false;  // the server is at it
    std::string text = FormatResponse(head, KeepAlive::kYes);
    if (head_.minor_version == 0) continue;
    bool told = co_await connection_.Write(text);
    if (!told) co_return false;
  }
  problem_ = "the server sends interim answers without end";
  co_return false;
}

Task<bool> Exchange::ReceiveHead(ResponseHead& head) {
  HeadScanner scanner;
  for (;;) {
    auto state = scanner.Scan(from_upstream_);
    if (state == HeadScanner::State::kComplete) break;
    if (state == HeadScanner::State::kMalformed || from_upstream_.size() > kMaxResponseHead) {
      problem_ = "the server's answer is not HTTP/1.1";
      co_return false;
    }
    bool more = co_await ReadUpstream();
    if (!more) co_return false;
  }
  auto parsed =
      ParseResponseHead(std::string_view(from_upstream_).substr(0, scanner.size()), head_.method);
  from_upstream_.erase(0, scanner.size());
  if (!parsed) {
    problem_ = "the server's answer: " + parsed.error().message;
    co_return false;
  }
  head = std::move(*parsed);
  co_return true;
}

Task<bool> Exchange::ReceiveBody(const ResponseHead& head) {
  if (!head.has_body) co_return true;
  BodyReader reader(head.body);
  std::string out;
  while (!reader.done()) {
    if (from_upstream_.empty()) {
      bool more = co_await ReadUpstream();
      if (!more && problem_.empty()) co_return head.body.kind == BodyKind::kUntilClose;
      if (!more) co_return false;
    }
    out.clear();
    auto taken = reader.Read(from_upstream_, out);
    if (!taken) co_return false;
    from_upstream_.erase(0, *taken);
    connection_.event().bytes_in += out.size();
    bool written = co_await connection_.Write(out);
    if (!written) co_return false;
    connection_.idle.Touch();
  }
  // More than the answer: nothing that could be made sense of.
  if (!from_upstream_.empty()) upstream_keeps_ = KeepAlive::kNo;
  co_return true;
}

Task<bool> Exchange::ReadUpstream() {
  std::array<char, kReadBytes> buffer;
  ReadResult got = co_await ReadSome(*connection_.upstream, buffer);
  bool ended = !got.error && got.bytes == 0;
  bool broke_off = ended && connection_.upstream_in_tls && BrokeOff(*connection_.upstream);
  if (got.error || broke_off) problem_ = "the connection to the server broke";
  if (got.error || got.bytes == 0) co_return false;
  connection_.idle.Touch();
  from_upstream_.append(buffer.data(), got.bytes);
  co_return true;
}

Task<void> Exchange::Switch() {
  switched_ = true;
  bool written = co_await connection_.Write(from_upstream_);
  if (!written) co_return;
  co_await RunRelay(connection_);
}

}  // namespace cordon::proxy
