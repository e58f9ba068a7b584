#include "proxy/connection.h"

#include <sys/socket.h>

#include <array>

#include "base/strings.h"

namespace cordon::proxy {
namespace {

constexpr size_t kReadBytes = 8 * 1024;
constexpr uint64_t kLingerMs = 1'000;
constexpr size_t kLingerBytes = 256 * 1024;

uint64_t MillisecondsSince(Clock::time_point start) {
  auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  return static_cast<uint64_t>(passed.count());
}

// What cannot be read as a host may be a URL with a password or a token in it.
std::string_view WithoutSecrets(std::string_view host) {
  host = host.substr(0, host.find_first_of("?#"));
  size_t at = host.rfind('@');
  return at == host.npos ? host : host.substr(at + 1);
}

std::string Shown(std::string_view text) {
  constexpr size_t kMost = 1024;
  return base::Printable(base::Utf8Prefix(text, kMost));
}

}  // namespace

const guard::NetRules& Server::Rules() {
  const auto& addresses = own.Get();
  if (options.rules.own_addresses != addresses) options.rules.own_addresses = addresses;
  return options.rules;
}

guard::HostPort Server::Meant(guard::HostPort target) const {
  if (!target.host.address) return target;
  auto name = names.NameOf(*target.host.address);
  if (name) target.host = std::move(*name);
  return target;
}

Refusal Refusal::Of(const guard::NetDecision& decision) {
  return {.reason = decision.reason, .rule = decision.rule, .hint = decision.hint};
}

Refusal Refusal::Invalid(const Error& error) {
  return {.reason = error.reason, .hint = error.hint, .detail = error.message};
}

Refusal Refusal::Failed(std::string detail, SocksReply reply) {
  return {.reason = Reason::kUpstreamFailed, .detail = std::move(detail), .socks_reply = reply};
}

Connection::Connection(Server& server_in, Socket client_in, Kind kind)
    : server(server_in),
      client(std::move(client_in)),
      via(kind == Kind::kCapture ? Via::kCapture : Via::kHttp),
      kind_(kind) {
  idle.most = std::chrono::milliseconds(server.options.limits.idle_ms);
  idle.Touch();
  ExpectWithin(server.options.limits.handshake_ms);
  self_ = server.connections.insert(server.connections.end(), this);
}

Connection::~Connection() {
  if (abandoned_) return;
  Finish();
  server.connections.erase(self_);
}

Task<void> Connection::Serve() {
  if (kind_ == Kind::kCapture) {
    co_await ServeCapture(*this);
    co_return;
  }
  bool begun = co_await ReadMore();
  if (!begun) co_return;
  if (in[0] == 5) {
    via = Via::kSocks;
    co_await ServeSocks(*this);
  } else {
    co_await ServeHttp(*this);
  }
}

void Connection::Expire() {
  expired_ = true;
  idle.deadline = client_deadline_ = Clock::time_point::max();
  ErrorCode ignored;
  client.cancel(ignored);
  if (upstream) upstream->cancel(ignored);
}

void Connection::Cut() {
  expired_ = true;
  ResetClient();
  if (upstream) Reset(*upstream);
}

void Connection::SetPlaintext(Socket plaintext) {
  ErrorCode ignored;
  secure_ = true;
  beneath_.reset(client.release(ignored));
  client = std::move(plaintext);
}

// An end of the plaintext would be passed on as a proper end of TLS. A socket
// that is connected to nothing again resets its connection, whoever else holds it.
void Connection::ResetClient() {
  sockaddr nothing{.sa_family = AF_UNSPEC};
  if (beneath_.valid()) static_cast<void>(!connect(beneath_.get(), &nothing, sizeof nothing));
  Reset(client);
}

Task<bool> Connection::ReadMore() {
  if (expired_ || input_ != Input::kOpen) co_return false;
  std::array<char, kReadBytes> buffer;
  ReadResult got = co_await ReadSome(client, buffer);
  if (got.error && !expired_) input_ = Input::kBroken;
  if (!got.error && got.bytes == 0) input_ = Input::kEnded;
  if (got.error || got.bytes == 0) co_return false;
  in.append(buffer.data(), got.bytes);
  co_return true;
}

Task<bool> Connection::Write(std::string_view bytes) {
  ErrorCode failed = co_await WriteAll(client, bytes);
  co_return !failed;
}

Task<void> Connection::Linger() {
  if (!client.is_open()) co_return;
  shutdown(client.native_handle(), SHUT_WR);
  expired_ = false;
  ExpectWithin(kLingerMs);
  for (size_t read = 0; read < kLingerBytes; read += in.size()) {
    in.clear();
    bool more = co_await ReadMore();
    if (!more) break;
  }
}

void Connection::ExpectWithin(uint64_t ms) {
  client_deadline_ = Clock::now() + std::chrono::milliseconds(ms);
}

void Connection::Begin(const guard::HostPort& target, const std::string& address,
                       const std::string& rule) {
  Finish();
  target_ = target;
  begun_ = true;
  started_ = Clock::now();
  event_ = {.via = via,
            .allowed = true,
            .host = target.host.name,
            .address = address,
            .port = target.port,
            .rule = rule};
}

void Connection::BeginForward(const Endpoint& to, const std::string& rule) {
  Begin({{.name = kLoopbackName}, to.port}, guard::ToString(to.address), rule);
  target_.reset();
}

void Connection::Finish() {
  if (!begun_) return;
  begun_ = false;
  target_.reset();
  event_.duration_ms = MillisecondsSince(started_);
  if (server.options.on_event) server.options.on_event(std::move(event_));
  event_ = {};
}

// What the client said may be among it: it is shown to people, and written down.
void Connection::Deny(std::string_view host, int port, const Refusal& refusal) {
  if (!server.options.on_event) return;
  server.options.on_event({.via = via,
                           .reason = refusal.reason,
                           .host = Shown(WithoutSecrets(host)),
                           .address = refusal.address,
                           .port = port,
                           .rule = Shown(refusal.rule),
                           .hint = Shown(refusal.hint),
                           .detail = Shown(refusal.detail)});
}

int HttpStatusOf(Reason reason) {
  if (reason == Reason::kUpstreamFailed) return 502;
  return reason == Reason::kRequestInvalid || reason == Reason::kHostInvalid ? 400 : 403;
}

std::string TextOf(const Refusal& refusal, std::string_view host, int port) {
  std::string text = "cordon: " + Shown(host);
  if (port != 0) text += ":" + std::to_string(port);
  text += refusal.reason == Reason::kUpstreamFailed ? " failed" : " denied";
  for (const std::string* part : {&refusal.rule, &refusal.detail}) {
    if (!part->empty()) text += ": " + Shown(*part);
  }
  return text;
}

namespace {

std::string_view Phrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Bad Gateway";
  }
}

}  // namespace

Task<void> AnswerHttp(Connection& connection, int status, Reason reason, std::string_view text) {
  std::string answer = "HTTP/1.1 " + std::to_string(status) + " ";
  answer.append(Phrase(status)).append("\r\nX-Cordon-Reason: ").append(ReasonId(reason));
  answer.append("\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ");
  answer.append(std::to_string(text.size() + 1)).append("\r\nConnection: close\r\n\r\n");
  answer.append(text).append("\n");
  // What does not fit at once is for a client that does not read: not waited for.
  send(connection.client.native_handle(), answer.data(), answer.size(),
       MSG_NOSIGNAL | MSG_DONTWAIT);
  co_await connection.Linger();
}

}  // namespace cordon::proxy
