// What DNS inside the sandbox answers. Names that the rules allow get addresses
// that stand for them (NameTable); all others do not exist, and no query for
// them leaves the host. Only addresses are ever told: other types, HTTPS and SVCB
// with their hints and keys among them, have no data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "guard/net_rules.h"
#include "proxy/async.h"
#include "proxy/dns_message.h"
#include "proxy/name_table.h"
#include "proxy/net_event.h"

namespace cordon::proxy {

// Code::kNotFound says that there is no such name; no address at all, that it
// has none.
using ResolveName = std::function<Task<Result<std::vector<guard::IpAddress>>>(guard::Host)>;

struct DnsContext {
  std::function<const guard::NetRules&()> rules;  // as they are now
  NameTable& names;
  ResolveName resolve;  // empty: an upstream proxy resolves, every allowed name is answered
  EventSink on_event;   // addresses that are given out, denials and failures
  size_t max_pending = 256;
};

// Lives on the proxy's thread, as long as the tasks that it made.
class DnsResponder {
 public:
  explicit DnsResponder(DnsContext context);

  // Nothing when the name has to be resolved first: then Resolve answers. With
  // too many of those under way the answer is a failure at once.
  std::optional<DnsAnswer> AnswerNow(const DnsQuery& query);
  Task<DnsAnswer> Resolve(DnsQuery query);

 private:
  std::optional<DnsAnswer> AnswerName(const guard::Host& host, DnsType type);
  DnsAnswer AnswerResolved(const guard::Host& host,
                           const Result<std::vector<guard::IpAddress>>& resolved, DnsType type);
  DnsAnswer Synthetic(const guard::Host& host, DnsType type, const std::string& rule);
  DnsAnswer Deny(std::string host, guard::NetDecision decision, std::string address = {});

  DnsContext context_;
  std::shared_ptr<size_t> pending_ = std::make_shared<size_t>(0);
};

}  // namespace cordon::proxy
