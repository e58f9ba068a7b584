// A GET of a tool's, from the host's network, by the rules that a command's proxy would
// decide by: each hop anew, to an address that was checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "audit/log.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "cordon/sandbox.h"

namespace cordon::session {

struct FetchRequest {
  std::string url;
  const Policy& policy;
  const std::map<std::string, std::string>& environment;
  audit::Log* log = nullptr;
  const Cancellation* cancellation = nullptr;
  uint64_t wall_ms = 30'000;
  size_t most_bytes = size_t{5} << 20;
  int most_redirects = 5;
};

struct Fetched {
  std::string url;  // of the last hop
  int status = 0;
  std::string content_type;
  std::string body;
  std::vector<Violation> violations;  // if it was denied; then there is no status
};

// `net.mode = "open"` is taken as `public`: this process is not where the command is, and
// what is private to the host is not a tool's business. From https no redirect leads to
// http. Hosts whose TLS the policy looks into are not fetched.
Result<Fetched> Fetch(const FetchRequest& request);

}  // namespace cordon::session
