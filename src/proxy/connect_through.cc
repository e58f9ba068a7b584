#include "proxy/connect_through.h"

#include <fcntl.h>

#include <exception>

#include "base/error.h"
#include "proxy/async.h"
#include "proxy/dial.h"
#include "proxy/parent_link.h"
#include "proxy/resolver.h"

namespace cordon::proxy {
namespace {

constexpr std::chrono::seconds kMost(30);

struct Made {
  std::optional<Socket> socket;
  std::string problem = "no answer in time";
};

Task<void> Make(Resolver& resolver, const ParentProxy* parent, const guard::HostPort& target,
                Made& made) {
  const guard::HostPort& first = parent != nullptr ? parent->at : target;
  Resolved resolved;
  if (first.host.address) resolved.addresses = {*first.host.address};
  if (!first.host.address) resolved = co_await resolver.Resolve(first.host.name);
  made.problem = resolved.problem;
  if (resolved.addresses.empty()) co_return;
  std::vector<Endpoint> endpoints;
  for (const auto& one : resolved.addresses) endpoints.push_back({one, first.port});
  Dialled dialled = co_await Dial(std::move(endpoints), Clock::now() + kMost);
  made.problem = base::ErrnoText(dialled.failure);
  if (!dialled.socket) co_return;
  made.problem.clear();
  if (parent != nullptr) made.problem = co_await AskParent(*dialled.socket, *parent, target);
  if (made.problem.empty()) made.socket = std::move(dialled.socket);
}

Error Failed(const guard::HostPort& target, const std::string& problem) {
  return {.code = Code::kSystem,
          .reason = Reason::kUpstreamFailed,
          .message = guard::ToString(target) + ": " + problem};
}

}  // namespace

Result<sys::UniqueFd> ConnectThrough(const std::optional<ParentProxy>& parent,
                                     const guard::HostPort& target) {
  bool through = parent && GoesThrough(*parent, target);
  if (through && parent->transport == ParentProxy::Transport::kTls) {
    return base::Unsupported("a proxy behind TLS is not spoken to here");
  }
  try {
    Made made;
    asio::io_context io{1};
    Resolver resolver(io.get_executor());
    Spawn(io.get_executor(), Make(resolver, through ? &*parent : nullptr, target, made));
    io.run_for(kMost);
    if (!made.socket) {
      return Failed(target, (through ? "the proxy: " : "") + made.problem);
    }
    sys::UniqueFd fd(made.socket->release());
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
    return fd;
  } catch (const std::exception& error) {
    return Failed(target, error.what());
  }
}

}  // namespace cordon::proxy
