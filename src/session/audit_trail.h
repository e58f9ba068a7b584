// The audit log of one run.
#pragma once

#include "audit/event.h"
#include "session/session.h"

namespace cordon::session {

// Opens `audit.log`, if the policy has one and it is not open yet; the policy then
// has the place that was opened. Before root is given up, which may be all that can
// write there. A log that cannot be opened is an error: nothing runs unseen.
Status OpenAudit(Request& request);

audit::RunStart StartOf(const Request& request, host::Backend backend,
                        const Result<plan::Plan>& plan);
audit::RunEnd EndOf(const Result<Outcome>& outcome, uint64_t lost);

}  // namespace cordon::session
