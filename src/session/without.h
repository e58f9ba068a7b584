// Builds for tests only: a run without one of its layers, to show that some
// attack then gets through. In a release these do nothing.
//
//   CORDON_TEST_WITHOUT=LAYER[,LAYER…], of
//   read_only     the read-only mounts            landlock      the Landlock domain
//   masks         the mounts over deny_read       seccomp       the filter, and with it the broker
//   names         the broker's check of names     sockets       its check of sockets
//   floor         the floor, existing or not      env           the clean environment
//   net, ipc, pid the namespace                   userns        the limit of user namespaces
//   capabilities  dropping them                   limits        all but the wall clock
//   temp_size     the size of the own tmpfs       dev           the own /dev
//   terminal      the own pseudo-terminal         session       the own session
//   init          what makes init unreadable      descriptors   closing inherited ones
//   root          becoming another user           keeper        keeping mounts in place
#pragma once

#include "backend/child_spec.h"
#include "plan/plan.h"
#include "session/session.h"

namespace cordon::session {

#ifdef CORDON_TEST_HOOKS
void LeaveOut(const Request& request, plan::Plan& plan);
void LeaveOut(backend::ChildSpec& spec);
#else
inline void LeaveOut(const Request&, plan::Plan&) {}
inline void LeaveOut(backend::ChildSpec&) {}
#endif

}  // namespace cordon::session
