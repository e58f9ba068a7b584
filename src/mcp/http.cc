#include "mcp/http.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <deque>

#include "base/error.h"
#include "sys/signals.h"

namespace cordon::mcp {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Socket = asio::ip::tcp::socket;
using HttpRequest = http::request<http::string_body>;
using HttpResponse = http::response<http::string_body>;
using Class = http::status_class;
using ErrorCode = boost::system::error_code;

constexpr uint64_t kMostBody = uint64_t{32} << 20;
constexpr size_t kMostConnections = 128;
constexpr size_t kMostSessions = 32;
constexpr int kIdleSeconds = 120;
constexpr char kSessionField[] = "Mcp-Session-Id";
constexpr char kVersionField[] = "Mcp-Protocol-Version";

std::string RandomId() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != ssize_t{16}) return {};
  std::string text;
  for (unsigned char byte : bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

// Takes as long for a wrong word as for the right one.
bool Same(std::string_view a, std::string_view b) {
  unsigned char differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return differs == 0;
}

std::string_view Field(const HttpRequest& request, std::string_view name) {
  auto value = request[boost::beast::string_view(name.data(), name.size())];
  return {value.data(), value.size()};
}

// What belongs to one POST, in the order it came.
class Queue : public Outlet {
 public:
  void Send(const Json& message) override {
    std::lock_guard lock(mutex_);
    messages_.push_back(message);
    changed_.notify_all();
  }
  void End() override {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  // The next one; nothing at the end.
  std::optional<Json> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty() || ended_; });
    if (messages_.empty()) return std::nullopt;
    Json message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Json> messages_;
  bool ended_ = false;
};

class HttpServer {
 public:
  HttpServer(agent::Toolbox& box, const Offer& offer, const HttpOptions& options)
      : box_(box), offer_(offer), options_(options) {}

  void Accept(sys::UniqueFd fd) {
    std::lock_guard lock(mutex_);
    Reap();
    if (connections_.size() >= kMostConnections) return;  // closing it is the answer
    timeval idle{.tv_sec = kIdleSeconds, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &idle, sizeof idle);
    Connection& connection = connections_.emplace_back();
    connection.fd = fd.get();
    sys::SignalsBlocked blocked;
    auto shared = std::make_shared<sys::UniqueFd>(std::move(fd));
    connection.thread = std::thread([this, &connection, shared] { Serve(connection, *shared); });
  }

  void Stop() {
    std::list<Connection> connections;
    std::map<std::string, std::shared_ptr<Session>> sessions;
    {
      std::lock_guard lock(mutex_);
      for (Connection& connection : connections_) {
        if (!connection.ended) shutdown(connection.fd, SHUT_RDWR);
      }
      sessions.swap(sessions_);
    }
    for (auto& [id, session] : sessions) session->Close();
    {
      std::lock_guard lock(mutex_);
      connections.swap(connections_);
    }
    for (Connection& connection : connections) connection.thread.join();
  }

 private:
  struct Connection {
    int fd = -1;
    std::thread thread;
    bool ended = false;
  };
  struct Ended {
    HttpServer& server;
    Connection& connection;
    ~Ended() {
      std::lock_guard lock(server.mutex_);
      connection.ended = true;
    }
  };

  void Serve(Connection& connection, sys::UniqueFd& fd) {
    try {
      asio::io_context io(1);
      Socket socket(io, asio::ip::tcp::v4(), fd.get());
      fd.release();
      // Before the socket closes, so that Stop never touches another's descriptor.
      Ended ended{*this, connection};
      boost::beast::flat_buffer buffer;
      while (ServeRequest(socket, buffer)) {
      }
    } catch (const std::exception&) {
      // Of this connection only: it is closed.
    }
  }

  // Whether another one may follow.
  bool ServeRequest(Socket& socket, boost::beast::flat_buffer& buffer) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(kMostBody);
    ErrorCode error;
    http::read_header(socket, buffer, parser, error);
    if (error) return false;
    // Before a stranger's body is taken in.
    if (auto refused = Refused(parser.get())) {
      Reply(socket, parser.get(), *refused, std::string(http::obsolete_reason(*refused)));
      return false;
    }
    http::read(socket, buffer, parser, error);
    if (error == http::error::body_limit) {
      Reply(socket, parser.get(), http::status::payload_too_large, "the message is too long");
      return false;
    }
    if (error) return false;
    HttpRequest request = parser.release();
    if (request.method() == http::verb::delete_) {
      EndSession(std::string(Field(request, kSessionField)));
      return Reply(socket, request, http::status::no_content, "");
    }
    return ServePost(socket, request);
  }

  std::optional<http::status> Refused(const HttpRequest& request) const {
    std::string port = ":" + std::to_string(options_.port);
    std::string_view host = Field(request, "Host");
    bool here = host == "127.0.0.1" + port || host == "localhost" + port;
    std::string_view origin = Field(request, "Origin");
    bool ours = origin.empty() || origin == "http://127.0.0.1" + port ||
                origin == "http://localhost" + port;
    if (!here || !ours) return http::status::forbidden;
    std::string_view authorization = Field(request, "Authorization");
    if (!Same(authorization, "Bearer " + options_.token)) return http::status::unauthorized;
    std::string_view target(request.target().data(), request.target().size());
    if (target != "/mcp") return http::status::not_found;
    bool known = request.method() == http::verb::post || request.method() == http::verb::delete_;
    if (!known) return http::status::method_not_allowed;
    std::string_view version = Field(request, kVersionField);
    bool spoken =
        version.empty() || std::ranges::find(kProtocolVersions, version) != kProtocolVersions.end();
    if (!spoken) return http::status::bad_request;
    bool json = Field(request, "Content-Type").starts_with("application/json");
    if (request.method() == http::verb::post && !json) return http::status::unsupported_media_type;
    return std::nullopt;
  }

  bool ServePost(Socket& socket, const HttpRequest& request) {
    Message message = ReadMessage(request.body());
    bool begins = message.kind == Message::Kind::kRequest && message.method == "initialize";
    std::string id(Field(request, kSessionField));
    std::shared_ptr<Session> session;
    if (begins && id.empty()) {
      id = RandomId();
      session = BeginSession(id);
      if (!session) {
        return Reply(socket, request, http::status::service_unavailable, "too many sessions");
      }
    } else if (message.kind != Message::Kind::kInvalid) {
      if (id.empty()) {
        return Reply(socket, request, http::status::bad_request, "the session's id is missing");
      }
      session = FindSession(id);
      if (!session) return Reply(socket, request, http::status::not_found, "no such session");
    }
    auto queue = std::make_shared<Queue>();
    if (session) {
      session->Handle(message, queue);
    } else {
      queue->Send(message.answer);
      queue->End();
    }
    if (message.kind == Message::Kind::kNotification || message.kind == Message::Kind::kResponse) {
      return Reply(socket, request, http::status::accepted, "");
    }
    return Answer(socket, request, begins ? id : "", *queue);
  }

  // One answer is JSON; where something comes before it, all of it is a stream of events.
  bool Answer(Socket& socket, const HttpRequest& request, const std::string& session,
              Queue& queue) {
    std::optional<Json> first = queue.Take();
    if (!first) return Reply(socket, request, http::status::accepted, "");
    bool last = first->contains("result") || first->contains("error");
    if (last) {
      HttpResponse response = Make(request, http::status::ok, Line(*first), "application/json");
      if (!session.empty()) response.set(kSessionField, session);
      return Write(socket, response);
    }
    std::string head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "Connection: close\r\n\r\n";
    ErrorCode error;
    asio::write(socket, asio::buffer(head), error);
    for (; first; first = queue.Take()) {
      std::string event = "event: message\ndata: " + Line(*first) + "\n";
      // A client that goes away has not cancelled its call.
      if (!error) asio::write(socket, asio::buffer(event), error);
    }
    socket.shutdown(Socket::shutdown_both, error);
    return false;
  }

  static HttpResponse Make(const HttpRequest& request, http::status status, std::string body,
                           const char* type) {
    HttpResponse response(status, 11);
    response.set(http::field::server, "cordon");
    response.set(http::field::cache_control, "no-store");
    if (!body.empty()) response.set(http::field::content_type, type);
    if (status == http::status::method_not_allowed) {
      response.set(http::field::allow, "POST, DELETE");
    }
    if (status == http::status::unauthorized) response.set(http::field::www_authenticate, "Bearer");
    // After a refusal the rest of the connection is not read.
    response.keep_alive(request.keep_alive() && http::to_status_class(status) == Class::successful);
    response.body() = std::move(body);
    response.prepare_payload();
    return response;
  }

  static bool Write(Socket& socket, const HttpResponse& response) {
    ErrorCode error;
    http::write(socket, response, error);
    return !error && response.keep_alive();
  }

  static bool Reply(Socket& socket, const HttpRequest& request, http::status status,
                    const std::string& text) {
    return Write(socket, Make(request, status, text, "text/plain"));
  }

  std::shared_ptr<Session> BeginSession(const std::string& id) {
    std::lock_guard lock(mutex_);
    if (id.empty() || sessions_.size() >= kMostSessions) return nullptr;
    return sessions_[id] = std::make_shared<Session>(box_, offer_);
  }

  std::shared_ptr<Session> FindSession(const std::string& id) {
    std::lock_guard lock(mutex_);
    auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second;
  }

  void EndSession(const std::string& id) {
    std::shared_ptr<Session> session = FindSession(id);
    if (!session) return;
    session->Close();
    std::lock_guard lock(mutex_);
    sessions_.erase(id);
  }

  void Reap() {
    for (auto connection = connections_.begin(); connection != connections_.end();) {
      if (!connection->ended) {
        ++connection;
        continue;
      }
      connection->thread.join();
      connection = connections_.erase(connection);
    }
  }

  agent::Toolbox& box_;
  const Offer& offer_;
  const HttpOptions& options_;
  std::mutex mutex_;
  std::list<Connection> connections_;  // these are guarded by mutex_
  std::map<std::string, std::shared_ptr<Session>> sessions_;
};

}  // namespace

Status ServeHttp(agent::Toolbox& box, const Offer& offer, const HttpOptions& options,
                 sys::UniqueFd listener, int stop) {
  HttpServer server(box, offer, options);
  Status ended;
  for (;;) {
    pollfd watched[] = {{listener.get(), POLLIN, 0}, {stop, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) {
      ended = base::SystemError("poll", errno);
      break;
    }
    if (watched[1].revents != 0) break;
    if (watched[0].revents == 0) continue;
    sys::UniqueFd client(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) continue;
    try {
      server.Accept(std::move(client));
    } catch (const std::exception&) {
      continue;  // no thread for it
    }
  }
  server.Stop();
  return ended;
}

}  // namespace cordon::mcp
