#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "plan/net_plan.h"

namespace cordon::plan {
namespace {

bool IsLoopback(const guard::Host& host) {
  if (host.address) return guard::KindOf(*host.address) == guard::AddressKind::kLoopback;
  return host.name == "localhost" || host.name.ends_with(".localhost");
}

Verdict Scalar(const Policy& policy, const std::string& key, std::string value) {
  Verdict verdict{.rule = key + " = \"" + std::move(value) + "\""};
  auto found = policy.origins.find(key);
  if (found == policy.origins.end()) return verdict;
  verdict.source = found->second.source;
  verdict.line = found->second.line;
  verdict.rule += " " + found->second.ToString();
  return verdict;
}

Verdict OnOpenNetwork(const Policy& policy) {
  Verdict verdict = Scalar(policy, "net.mode", "open");
  verdict.allowed = true;
  verdict.detail = "the host's own network: nothing is filtered";
  return verdict;
}

// Loopback inside is the sandbox's own; the host's is behind chosen ports.
Verdict OnLoopback(const Policy& policy, int port) {
  const std::vector<int>& ports = policy.net.host_ports;
  if (std::ranges::find(ports, port) != ports.end()) {
    return {.allowed = true,
            .rule = "net.host_ports",
            .detail = "port " + std::to_string(port) + " of the host's loopback"};
  }
  return {.rule = "private loopback",
          .detail = "inside this is the sandbox's own; the host's is not reached",
          .hint = "net.host_ports = [" + std::to_string(port) + "] would reach the host's"};
}

// "policy.toml:7" and "@npm, preset workspace:210" → the file and its line.
void SetPlace(std::string_view origin, Verdict& verdict) {
  if (origin.starts_with('@')) origin.remove_prefix(origin.find(", ") + 2);
  size_t colon = origin.rfind(':');
  int line = 0;
  if (colon != origin.npos) {
    const char* end = origin.data() + origin.size();
    auto [rest, error] = std::from_chars(origin.data() + colon + 1, end, line);
    if (error != std::errc() || rest != end) line = 0;
  }
  verdict.source = line == 0 ? origin : origin.substr(0, colon);
  verdict.line = line;
}

Verdict ByRules(const Policy& policy, const guard::NetRules& rules, const guard::HostPort& target) {
  guard::NetDecision decision = guard::DecideHost(rules, target.host, target.port);
  if (rules.mode == NetMode::kNone) {
    Verdict verdict = Scalar(policy, "net.mode", "none");
    verdict.detail = "there is no network inside";
    verdict.hint = decision.hint + " would allow it";
    return verdict;
  }
  Verdict verdict{.allowed = decision.allowed};
  if (!decision.origin.empty()) {
    verdict.rule = "net." + decision.rule;
    SetPlace(decision.origin, verdict);
  } else {
    std::string mode = rules.mode == NetMode::kProxy ? "proxy" : "public";
    verdict = Scalar(policy, "net.mode", mode);
    verdict.allowed = decision.allowed;
    verdict.detail = decision.rule;
  }
  if (!decision.hint.empty()) verdict.hint = decision.hint + " would allow it";
  if (decision.allowed && !target.host.address) {
    verdict.detail = "the addresses it resolves to are checked as well";
  }
  return verdict;
}

}  // namespace

Result<Verdict> ExplainConnect(const Policy& policy, const guard::HostPort& target) {
  CORDON_ASSIGN_OR_RETURN(guard::NetRules rules, ResolveNetRules(policy));
  if (rules.mode == NetMode::kOpen) return OnOpenNetwork(policy);
  if (!IsLoopback(target.host)) return ByRules(policy, rules, target);
  Verdict verdict = ByRules(policy, rules, target);
  if (!verdict.allowed) return OnLoopback(policy, target.port);
  verdict.detail = "the host's, by the proxy; without it this is the sandbox's own loopback";
  return verdict;
}

}  // namespace cordon::plan
