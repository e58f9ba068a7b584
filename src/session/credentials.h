// Secrets of net.credential: read on the host before the launch, and hidden from
// the sandbox, which gets placeholders in their place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cordon/policy.h"
#include "cordon/result.h"
#include "plan/plan.h"
#include "proxy/credential.h"

namespace cordon::session {

// Errors name the credential and where it was looked for, never a value.
Result<std::vector<proxy::Secret>> ReadSecrets(
    const std::vector<Credential>& credentials,
    const std::map<std::string, std::string>& environment);

// What the sandbox sees: variables hold the placeholder wherever they held a
// secret, NAME of "env:NAME" always; a file of "file:" that it can read is covered.
void HideSecrets(const std::vector<Credential>& credentials,
                 const std::vector<proxy::Secret>& secrets, plan::Plan& plan);

}  // namespace cordon::session
