#include "proxy/proxy.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <thread>

#include "base/error.h"
#include "proxy/acceptor.h"
#include "proxy/connection.h"
#include "proxy/dns_responder.h"
#include "proxy/dns_server.h"
#include "sys/signals.h"

namespace cordon::proxy {
namespace {

constexpr std::chrono::milliseconds kSweep(250);

Task<void> ServeOne(std::unique_ptr<Connection> connection) { co_await connection->Serve(); }

// Ends connections whose time is up. One look at all of them four times a second
// costs less than a timer for each.
Task<void> Sweep(Server& server, Signal& accepted) {
  Signal tick(server.executor);
  for (;;) {
    if (server.connections.empty()) co_await accepted.Wait();
    co_await tick.WaitUntil(Clock::now() + kSweep);
    auto now = Clock::now();
    for (Connection* connection : server.connections) {
      if (connection->deadline() <= now) connection->Expire();
    }
  }
}

}  // namespace

class Proxy::Impl {
 public:
  explicit Impl(ProxyOptions options)
      : server_(io_.get_executor(), std::move(options)), accepted_(io_.get_executor()) {}

  // Coroutines that still wait are destroyed with io_, after server_: what they
  // hold must not need it. So they are ended here, while it is there.
  ~Impl() {
    if (thread_.joinable()) {
      io_.stop();
      thread_.join();
    }
    EndConnections();
    for (Connection* connection : server_.connections) connection->Abandon();
  }

  Status Start(Listeners listeners) {
    if (!server_.options.upstream.empty()) {
      CORDON_ASSIGN_OR_RETURN(server_.parent,
                              ParseParentProxy(server_.options.upstream, server_.options.no_proxy));
    }
    if (server_.options.tls.valid()) {
      server_.tls = Adopt(server_.executor, std::move(server_.options.tls));
    }
    if (!server_.own.Refresh()) return base::SystemError("getifaddrs", errno);
    for (sys::UniqueFd& fd : listeners.mux) {
      CORDON_TRY(Listen(std::move(fd), Connection::Kind::kMux));
    }
    for (sys::UniqueFd& fd : listeners.capture) CORDON_TRY(ListenCapture(std::move(fd)));
    for (Forward& forward : listeners.host_ports) {
      CORDON_TRY(ListenForward(std::move(forward), Via::kHostPort, {}));
    }
    for (Forward& forward : listeners.publish) {
      CORDON_TRY(ListenForward(std::move(forward), Via::kPublish, server_.options.inside));
    }
    CORDON_TRY(StartDns(std::move(listeners)));
    Spawn(server_.executor, Sweep(server_, accepted_));
    sys::SignalsBlocked blocked;  // signals are for the threads of the host program
    thread_ = std::thread([this] { Run(); });
    return {};
  }

  void Capture(sys::UniqueFd listener) {
    // A handler has to be copyable. Closing what cannot be served is the answer.
    auto shared = std::make_shared<sys::UniqueFd>(std::move(listener));
    asio::post(io_, [this, shared] { static_cast<void>(ListenCapture(std::move(*shared))); });
  }

  void ServeClient(sys::UniqueFd client) {
    auto shared = std::make_shared<sys::UniqueFd>(std::move(client));
    asio::post(io_, [this, shared] {
      Spawn(server_.executor,
            ServeOne(std::make_unique<Connection>(
                server_, Adopt(server_.executor, std::move(*shared)), Connection::Kind::kMux)));
      accepted_.Notify();
    });
  }

  void Reload(guard::NetRules rules) {
    asio::post(io_, [this, rules = std::move(rules)]() mutable {
      server_.options.rules = std::move(rules);
      for (Connection* connection : server_.connections) {
        if (!StillAllowed(*connection)) connection->Cut();
      }
    });
  }

 private:
  void EndConnections() {
    try {
      server_.resolver.Cancel();
      server_.tls.reset();
      for (Connection* connection : server_.connections) connection->Cut();
      io_.restart();
      io_.poll();
    } catch (const std::exception&) {
      return;  // memory ran out: what is left goes with the process
    }
  }

  void Run() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception&) {
        continue;  // of one handler; the others go on
      }
    }
  }

  Status Listen(sys::UniqueFd fd, Connection::Kind kind) {
    return Serve(std::move(fd), kind, ServeOne);
  }

  Status ListenCapture(sys::UniqueFd fd) {
    SendUnpaced(fd.get());
    return Listen(std::move(fd), Connection::Kind::kCapture);
  }

  Status ListenForward(Forward forward, Via via, SocketFactory make) {
    return Serve(std::move(forward.listener), Connection::Kind::kMux,
                 [via, port = forward.port, make = std::move(make)](auto connection) {
                   return ServeForward(std::move(connection), via, port, make);
                 });
  }

  Status Serve(sys::UniqueFd fd, Connection::Kind kind,
               std::function<Task<void>(std::unique_ptr<Connection>)> how) {
    return Accept(server_.executor, std::move(fd),
                  [this, kind, how = std::move(how)](Socket client) {
                    // Too many: closing it is the answer.
                    if (server_.connections.size() >= server_.options.limits.connections) return;
                    Spawn(server_.executor,
                          how(std::make_unique<Connection>(server_, std::move(client), kind)));
                    accepted_.Notify();
                  });
  }

  Status StartDns(Listeners listeners) {
    if (listeners.dns_udp.empty() && listeners.dns_tcp.empty()) return {};
    DnsContext context{.rules = [this]() -> const guard::NetRules& { return server_.Rules(); },
                       .names = server_.names,
                       .on_event = server_.options.on_event};
    if (!server_.parent) {
      context.resolve = [this](guard::Host host) { return ResolveForDns(std::move(host)); };
    }
    return ServeDns(server_.executor, std::make_shared<DnsResponder>(std::move(context)),
                    {std::move(listeners.dns_udp), std::move(listeners.dns_tcp)});
  }

  Task<Result<std::vector<guard::IpAddress>>> ResolveForDns(guard::Host host) {
    Resolved resolved = co_await server_.resolver.Resolve(host.name);
    if (!resolved.problem.empty()) {
      co_return Error{.code = resolved.not_found ? Code::kNotFound : Code::kSystem,
                      .reason = Reason::kUpstreamFailed,
                      .message = resolved.problem};
    }
    co_return resolved.addresses;
  }

  bool StillAllowed(Connection& connection) {
    const auto& target = connection.target();
    if (!target) return true;  // decided later, by the rules of then
    const guard::NetRules& rules = server_.Rules();
    if (!guard::DecideHost(rules, target->host, target->port).allowed) return false;
    if (server_.parent && GoesThrough(*server_.parent, *target)) return true;
    auto address = guard::ParseIp(connection.event().address);
    return address && guard::DecideAddress(rules, target->host, *address, target->port).allowed;
  }

  asio::io_context io_{1};
  Server server_;
  Signal accepted_;
  std::thread thread_;
};

Proxy::Proxy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Proxy::Proxy(Proxy&&) noexcept = default;
Proxy& Proxy::operator=(Proxy&&) noexcept = default;
Proxy::~Proxy() = default;

Result<Proxy> Proxy::Start(ProxyOptions options, Listeners listeners) {
  try {
    auto impl = std::make_unique<Impl>(std::move(options));
    CORDON_TRY(impl->Start(std::move(listeners)));
    return Proxy(std::move(impl));
  } catch (const std::exception& error) {
    return Error{.code = Code::kSystem,
                 .reason = Reason::kSystemCall,
                 .message = std::string("starting the proxy: ") + error.what()};
  }
}

void Proxy::Serve(sys::UniqueFd client) { impl_->ServeClient(std::move(client)); }

void Proxy::Capture(sys::UniqueFd listener) { impl_->Capture(std::move(listener)); }

void Proxy::Reload(guard::NetRules rules) { impl_->Reload(std::move(rules)); }

}  // namespace cordon::proxy
