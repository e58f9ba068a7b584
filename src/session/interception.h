// What a run needs to look into TLS: the companion that speaks it, and the secrets
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

// Nothing where the plan looks into no TLS. Otherwise the companion runs, and the
// plan's files and variables are what the sandbox may see: the bundle with our
// authority in it, placeholders for the secrets.
Result<std::optional<Interception>> StartInterception(
    const std::map<std::string, std::string>& environment, plan::Plan& plan);

}  // namespace cordon::session
