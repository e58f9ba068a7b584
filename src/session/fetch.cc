#include "session/fetch.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/strings.h"
#include "guard/url.h"
#include "host/real_paths.h"
#include "plan/net_plan.h"
#include "proxy/proxy.h"
#include "sys/fd.h"
#include "tls/companion.h"

namespace cordon::session {
namespace {

namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

Error Failed(std::string why, Reason reason = Reason::kUpstreamFailed) {
  return {.code = Code::kSystem, .reason = reason, .message = std::move(why)};
}

// One end of a stream that must not keep us longer than we have.
class Link {
 public:
  Link(sys::UniqueFd fd, Clock::time_point until, const Cancellation* cancellation)
      : fd_(std::move(fd)), until_(until), cancellation_(cancellation) {}

  int fd() const { return fd_.get(); }
  Link Become(sys::UniqueFd fd) const { return {std::move(fd), until_, cancellation_}; }

  Status Write(std::string_view bytes) {
    while (!bytes.empty()) {
      CORDON_TRY(Wait(POLLOUT));
      ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return Failed("the connection broke");
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return {};
  }

  // 0 at the end.
  Result<size_t> Read(std::span<char> buffer) {
    for (;;) {
      CORDON_TRY(Wait(POLLIN));
      ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EAGAIN && errno != EINTR) return Failed("the connection broke");
    }
  }

  Status ReadExactly(std::span<char> buffer) {
    while (!buffer.empty()) {
      CORDON_ASSIGN_OR_RETURN(size_t got, Read(buffer));
      if (got == 0) return Failed("the connection ended");
      buffer = buffer.subspan(got);
    }
    return {};
  }

 private:
  Status Wait(short events) {
    for (;;) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
      if (left <= 0) return Failed("it took too long", Reason::kTimedOut);
      pollfd watched[] = {{fd_.get(), events, 0},
                          {cancellation_ == nullptr ? -1 : cancellation_->fd(), POLLIN, 0}};
      if (poll(watched, 2, static_cast<int>(left)) <= 0) continue;
      if (watched[1].revents != 0) return Failed("cancelled", Reason::kCancelled);
      return {};
    }
  }

  sys::UniqueFd fd_;
  Clock::time_point until_;
  const Cancellation* cancellation_;
};

class Fetcher {
 public:
  explicit Fetcher(const FetchRequest& request)
      : request_(request), until_(Clock::now() + std::chrono::milliseconds(request.wall_ms)) {}

  Result<Fetched> Go() {
    CORDON_TRY(StartProxy());
    CORDON_ASSIGN_OR_RETURN(guard::Url url, guard::ParseUrl(request_.url));
    for (int hops = 0; hops <= request_.most_redirects; ++hops) {
      CORDON_ASSIGN_OR_RETURN(Fetched got, Hop(url));
      if (got.status < 300 || got.status >= 400 || location_.empty()) return got;
      CORDON_ASSIGN_OR_RETURN(url, guard::FollowRedirect(url, location_));
    }
    return Failed("too many redirects");
  }

 private:
  Status StartProxy() {
    proxy::ProxyOptions options;
    CORDON_ASSIGN_OR_RETURN(options.rules, plan::ResolveNetRules(request_.policy));
    if (options.rules.mode == NetMode::kOpen) options.rules.mode = NetMode::kPublic;
    plan::Parent parent = plan::ParentOf(request_.policy.net, request_.environment);
    options.upstream = std::move(parent.upstream);
    options.no_proxy = std::move(parent.no_proxy);
    options.on_event = [this](const proxy::NetEvent& event) { Note(event); };
    auto proxy = proxy::Proxy::Start(std::move(options), {});
    if (!proxy) return std::move(proxy).error();
    proxy_.emplace(std::move(*proxy));
    return {};
  }

  void Note(const proxy::NetEvent& event) {
    if (request_.log != nullptr) std::ignore = request_.log->Record(event);
    if (event.allowed || event.reason == Reason::kUpstreamFailed) return;
    std::lock_guard lock(mutex_);
    denied_.push_back({.reason = event.reason,
                       .operation = "connect",
                       .subject = event.host + ":" + std::to_string(event.port),
                       .rule = event.rule,
                       .hint = event.hint});
  }

  std::vector<Violation> Denied() {
    std::lock_guard lock(mutex_);
    return denied_;
  }

  Result<Link> Connect() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      return base::SystemError("socketpair", errno);
    }
    proxy_->Serve(sys::UniqueFd(ends[1]));
    return Link(sys::UniqueFd(ends[0]), until_, request_.cancellation);
  }

  Result<Fetched> Hop(const guard::Url& url) {
    std::string text = guard::ToString(url);
    CORDON_ASSIGN_OR_RETURN(Link link, Connect());
    std::string host = guard::ToString(url.target);
    std::string path = url.resource;
    if (url.scheme == "https") {
      CORDON_ASSIGN_OR_RETURN(bool open, Tunnel(link, host));
      if (!open) return Fetched{.url = text, .violations = Denied()};
      CORDON_ASSIGN_OR_RETURN(link, Secure(std::move(link), url.target.host.name));
    } else {
      path = "http://" + host + path;
    }
    CORDON_TRY(
        link.Write("GET " + path + " HTTP/1.1\r\nHost: " + host +
                   "\r\nUser-Agent: cordon\r\nAccept: text/*, application/json, */*;q=0.5\r\n"
                   "Accept-Encoding: identity\r\nConnection: close\r\n\r\n"));
    CORDON_ASSIGN_OR_RETURN(Fetched got, ReadResponse(link));
    got.url = text;
    if (std::vector<Violation> denied = Denied(); !denied.empty()) {
      return Fetched{.url = text, .violations = std::move(denied)};
    }
    return got;
  }

  // False: it is denied.
  Result<bool> Tunnel(Link& link, const std::string& host) {
    CORDON_TRY(link.Write("CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
      char byte;
      CORDON_TRY(link.ReadExactly({&byte, 1}));  // what follows is the server's
      head += byte;
      if (head.size() > 16 * 1024) return Failed("the proxy's answer is too long");
    }
    if (head.starts_with("HTTP/1.1 200")) return true;
    if (!Denied().empty()) return false;
    return Failed("the host cannot be reached");
  }

  Result<Link> Secure(Link link, const std::string& host) {
    if (!companion_) {
      host::RealPaths probe;
      std::string bundle = plan::TrustSource(probe, request_.environment);
      if (bundle.empty()) {
        return base::Unsupported("this host has no bundle of certificate authorities",
                                 "install ca-certificates, or name one by SSL_CERT_FILE");
      }
      CORDON_ASSIGN_OR_RETURN(tls::Companion companion, tls::Companion::Start({.bundle = bundle}));
      companion_.emplace(std::move(companion));
      control_ = companion_->TakeControl();
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return base::SystemError("socketpair", errno);
    }
    sys::UniqueFd ours(ends[0]), theirs(ends[1]);
    const std::array<int, 2> fds = {link.fd(), theirs.get()};
    if (int failed = tls::SendOrder(control_.get(), tls::Order::kConnect, host, "", fds)) {
      return base::SystemError("the TLS companion", failed);
    }
    Link plain = link.Become(std::move(ours));
    tls::Verdict verdict;
    std::array<char, sizeof verdict> bytes;
    CORDON_TRY(plain.ReadExactly(bytes));
    std::memcpy(&verdict, bytes.data(), sizeof verdict);
    if (verdict.good != 0) return plain;
    std::string why(verdict.size, ' ');
    CORDON_TRY(plain.ReadExactly(why));
    return Failed("TLS: " + base::Printable(why));
  }

  Result<Fetched> ReadResponse(Link& link) {
    http::response_parser<http::string_body> parser;
    parser.body_limit(request_.most_bytes);
    parser.eager(true);
    std::string bytes;
    std::array<char, 64 * 1024> buffer;
    boost::system::error_code error;
    while (!parser.is_done()) {
      CORDON_ASSIGN_OR_RETURN(size_t got, link.Read(buffer));
      if (got == 0) {
        parser.put_eof(error);
        if (error) return Failed("the answer broke off");
        break;
      }
      bytes.append(buffer.data(), got);
      size_t used = parser.put(boost::asio::buffer(bytes), error);
      bytes.erase(0, used);
      if (error == http::error::need_more) error = {};
      if (error == http::error::body_limit) {
        return Failed("the answer has more than " + std::to_string(request_.most_bytes) + " bytes");
      }
      if (error) return Failed("the answer cannot be read: " + error.message());
    }
    auto response = parser.release();
    auto field = [&](http::field name) {
      auto value = response[name];
      return std::string(value.data(), value.size());
    };
    location_ = field(http::field::location);
    return Fetched{.status = static_cast<int>(response.result_int()),
                   .content_type = field(http::field::content_type),
                   .body = std::move(response.body())};
  }

  const FetchRequest& request_;
  const Clock::time_point until_;
  std::mutex mutex_;
  std::vector<Violation> denied_;  // guarded by mutex_
  std::string location_;           // of the last answer
  std::optional<tls::Companion> companion_;
  sys::UniqueFd control_;
  std::optional<proxy::Proxy> proxy_;  // last: ends first, and with it the events
};

}  // namespace

Result<Fetched> Fetch(const FetchRequest& request) {
  try {
    return Fetcher(request).Go();
  } catch (const std::exception& error) {
    return Failed(error.what());
  }
}

}  // namespace cordon::session
