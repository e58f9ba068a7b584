#include "proxy/dns_responder.h"

#include <utility>

namespace cordon::proxy {
namespace {

using guard::Family;
using guard::Host;
using guard::IpAddress;
using guard::NetDecision;

// Short, so that what a client keeps does not outlive a change of the rules long.
constexpr uint32_t kSeconds = 30;

DnsAnswer NoSuchName() { return {.code = DnsCode::kNoSuchName}; }
DnsAnswer NoData() { return {.code = DnsCode::kNoError}; }
DnsAnswer Failure() { return {.code = DnsCode::kServerFailure}; }
DnsAnswer Addresses(std::vector<IpAddress> addresses) {
  return {.code = DnsCode::kNoError, .addresses = std::move(addresses), .ttl = kSeconds};
}

bool IsAddressType(DnsType type) { return type == DnsType::kA || type == DnsType::kAaaa; }

// RFC 6761 6.3.
bool IsLocalhost(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost");
}

DnsAnswer Loopback() {
  IpAddress v6{.family = Family::kV6};
  v6.bytes[15] = 1;
  return Addresses({IpAddress{.family = Family::kV4, .bytes = {127, 0, 0, 1}}, v6});
}

NetDecision Invalid(std::string rule) {
  return {.allowed = false, .reason = Reason::kHostInvalid, .rule = std::move(rule)};
}

// One more under way, for as long as it lives. Outlives the responder if the
// executor ends with tasks in it.
class Pending {
 public:
  explicit Pending(std::shared_ptr<size_t> count) : count_(std::move(count)) { ++*count_; }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { --*count_; }

 private:
  std::shared_ptr<size_t> count_;
};

}  // namespace

DnsResponder::DnsResponder(DnsContext context) : context_(std::move(context)) {}

std::optional<DnsAnswer> DnsResponder::AnswerNow(const DnsQuery& query) {
  if (query.name.empty()) return NoData();  // the root, below which there are names
  // A backslash stands for a byte that no host name has.
  if (query.name.contains('\\')) return Deny(query.name, Invalid("not the name of a host"));
  Result<Host> host = guard::ParseHost(query.name);
  if (!host) return Deny(query.name, Invalid(host.error().message));
  if (host->address) return Deny(host->name, Invalid("an address is not a name"));
  if (IsLocalhost(host->name)) return Loopback();
  return AnswerName(*host, query.type);
}

std::optional<DnsAnswer> DnsResponder::AnswerName(const Host& host, DnsType type) {
  NetDecision decision = guard::DecideLookup(context_.rules(), host);
  if (!decision.allowed) return Deny(host.name, std::move(decision));
  if (!IsAddressType(type)) return NoData();
  if (!context_.resolve) return Synthetic(host, type, decision.rule);
  if (*pending_ >= context_.max_pending) return Failure();
  return std::nullopt;
}

Task<DnsAnswer> DnsResponder::Resolve(DnsQuery query) {
  Pending pending(pending_);
  Result<Host> host = guard::ParseHost(query.name);
  if (!host) co_return NoSuchName();
  Result<std::vector<IpAddress>> resolved = co_await context_.resolve(*host);
  co_return AnswerResolved(*host, resolved, query.type);
}

DnsAnswer DnsResponder::AnswerResolved(const Host& host,
                                       const Result<std::vector<IpAddress>>& resolved,
                                       DnsType type) {
  if (!resolved) {
    if (resolved.error().code == Code::kNotFound) return NoSuchName();
    context_.on_event({.operation = NetOperation::kLookup,
                       .via = Via::kDns,
                       .reason = Reason::kUpstreamFailed,
                       .host = host.name,
                       .detail = resolved.error().message});
    return Failure();
  }
  if (resolved->empty()) return NoData();
  // The rules may have changed while we waited.
  NetDecision lookup = guard::DecideLookup(context_.rules(), host);
  if (!lookup.allowed) return Deny(host.name, std::move(lookup));
  NetDecision denied;
  for (const IpAddress& address : *resolved) {
    denied = guard::DecideAddress(context_.rules(), host, address);
    if (denied.allowed) return Synthetic(host, type, lookup.rule);
  }
  return Deny(host.name, std::move(denied), guard::ToString(resolved->back()));
}

// Of either family whatever the name has: a client takes the one that it
// prefers, and the proxy dials what there is.
DnsAnswer DnsResponder::Synthetic(const Host& host, DnsType type, const std::string& rule) {
  std::optional<IpAddress> address =
      context_.names.AddressFor(host, type == DnsType::kA ? Family::kV4 : Family::kV6);
  if (address) {
    context_.on_event({.operation = NetOperation::kLookup,
                       .via = Via::kDns,
                       .allowed = true,
                       .host = host.name,
                       .address = guard::ToString(*address),
                       .rule = rule});
    return Addresses({*address});
  }
  Deny(host.name, {.reason = Reason::kHostDenied, .rule = "too many names were looked up"});
  return {.code = DnsCode::kRefused};
}

DnsAnswer DnsResponder::Deny(std::string host, NetDecision decision, std::string address) {
  context_.on_event({.operation = NetOperation::kLookup,
                     .via = Via::kDns,
                     .reason = decision.reason,
                     .host = std::move(host),
                     .address = std::move(address),
                     .rule = std::move(decision.rule),
                     .hint = std::move(decision.hint)});
  return NoSuchName();
}

}  // namespace cordon::proxy
