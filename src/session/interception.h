// What a proxy needs to speak TLS itself: the companion that does, and the secrets
// that are put into requests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cordon/result.h"
#include "plan/plan.h"
#include "proxy/credential.h"
#include "tls/companion.h"

namespace cordon::session {

struct Interception {
  tls::Companion companion;
  std::vector<proxy::Secret> secrets;
};

// Starts the companion and reads the secrets; `net.trust_source` is set.
Result<Interception> StartTls(const std::map<std::string, std::string>& environment,
                              const plan::NetPlan& net);

// Nothing where the plan needs no TLS. Otherwise that, and the plan's files and
// variables are what the sandbox may see: the bundle with our authority in it where
// TLS is looked into, placeholders for the secrets.
Result<std::optional<Interception>> StartInterception(
    const std::map<std::string, std::string>& environment, plan::Plan& plan);

}  // namespace cordon::session
