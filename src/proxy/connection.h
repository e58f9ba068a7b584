// One connection from the sandbox, and what all of them share. Everything here
// lives on the proxy's thread.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "guard/net_rules.h"
#include "proxy/async.h"
#include "proxy/name_table.h"
#include "proxy/own_addresses.h"
#include "proxy/parent_proxy.h"
#include "proxy/proxy.h"
#include "proxy/relay.h"
#include "proxy/resolver.h"
#include "proxy/socks5.h"

namespace cordon::proxy {

class Connection;

// What a forwarded port leads to is called.
inline constexpr char kLoopbackName[] = "localhost";

struct Server {
  Server(const Executor& ex, ProxyOptions opts)
      : executor(ex), options(std::move(opts)), resolver(ex) {}

  // The rules with the host's own addresses as they are now.
  const guard::NetRules& Rules();

  // An address that DNS gave out stands for its name; any other for itself.
  guard::HostPort Meant(guard::HostPort target) const;

  Executor executor;
  ProxyOptions options;
  std::optional<ParentProxy> parent;
  std::optional<Socket> tls;  // where the companion takes orders
  Resolver resolver;
  NameTable names;
  RelayBuffers buffers;
  OwnAddresses own;
  std::list<Connection*> connections;
};

// Why a connection is not made.
struct Refusal {
  Reason reason = Reason::kInternal;
  std::string rule;
  std::string hint;
  std::string detail;   // of a failure: "connection refused"
  std::string address;  // the denied one
  SocksReply socks_reply = SocksReply::kDenied;

  static Refusal Of(const guard::NetDecision& decision);
  static Refusal Invalid(const Error& error);
  static Refusal Failed(std::string detail, SocksReply reply = SocksReply::kFailure);
};

class Connection {
 public:
  enum class Kind { kMux, kCapture };
  Connection(Server& server_in, Socket client_in, Kind kind);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Task<void> Serve();

  // Ends what it waits for; it then says why, where it still can.
  void Expire();
  // Ends it without a word.
  void Cut();
  // The server goes before this does.
  void Abandon() { abandoned_ = true; }

  // What has been read but not used. Reads more into it: false at the end, after
  // an error and when the time is up. What has ended is not read again: Asio
  // would wait for news that never comes.
  std::string in;
  Task<bool> ReadMore();
  enum class Input { kOpen, kEnded, kBroken };
  Input input() const { return input_; }
  Task<bool> Write(std::string_view bytes);
  // Says no more, and lets the client read what was said: closing at once with
  // its bytes unread would reset what it has not read yet.
  Task<void> Linger();

  // A deadline for what the client has to say next, until it is lifted; the idle
  // time counts beside it.
  void ExpectWithin(uint64_t ms);
  void ExpectNothing() { client_deadline_ = Clock::time_point::max(); }
  Clock::time_point deadline() const { return std::min(client_deadline_, idle.deadline); }
  bool expired() const { return expired_; }

  // The events of this connection. Begin before the first word to the upstream;
  // Finish, at the latest by the destructor, when it has gone.
  void Begin(const guard::HostPort& target, const std::string& address, const std::string& rule);
  void BeginForward(const Endpoint& to, const std::string& rule);
  void Finish();
  void Deny(std::string_view host, int port, const Refusal& refusal);
  const std::optional<guard::HostPort>& target() const { return target_; }
  NetEvent& event() { return event_; }

  // From now on `client` is what is inside its TLS.
  void SetPlaintext(Socket plaintext);
  bool secure() const { return secure_; }
  // Ends the client so that it cannot take what it has for the whole.
  void ResetClient();

  Server& server;
  Socket client;
  std::optional<Socket> upstream;
  bool upstream_in_tls = false;  // `upstream` is the plaintext of it
  Idle idle;
  Via via;  // by which way it came, as far as is known

 private:
  Kind kind_;
  sys::UniqueFd beneath_;  // the client's TLS, which the companion reads and writes
  Clock::time_point client_deadline_;
  Input input_ = Input::kOpen;
  bool secure_ = false;
  bool expired_ = false;
  bool abandoned_ = false;
  std::optional<guard::HostPort> target_;  // of what the rules decided
  bool begun_ = false;
  NetEvent event_;
  Clock::time_point started_;
  std::list<Connection*>::iterator self_;
};

// How each protocol is served, to its end.
Task<void> ServeHttp(Connection& connection);
// HTTP whose every request must be for `target`: what a rule has to see.
Task<void> ServeHttpFor(Connection& connection, const guard::HostPort& target);
Task<void> ServeSocks(Connection& connection);
Task<void> ServeCapture(Connection& connection);
// To `port` of the loopback that the sockets of `make` see; `via` says which.
Task<void> ServeForward(std::unique_ptr<Connection> connection, Via via, int port,
                        SocketFactory make);

// A short answer of our own with X-Cordon-Reason; the connection ends with it.
Task<void> AnswerHttp(Connection& connection, int status, Reason reason, std::string_view text);
int HttpStatusOf(Reason reason);
std::string TextOf(const Refusal& refusal, std::string_view host, int port);

}  // namespace cordon::proxy
