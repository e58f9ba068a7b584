// Runs in: supervisor. Pure.
//
// A plan as a Kubernetes Job with its NetworkPolicy. The root file system is an
// image's, not the host's; the workspace is a volume, and what the plan has
// inside the workspace (read-only, masked, pinned) are mounts of it.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace cordon::backend {

struct KubernetesOptions {
  std::string name = "cordon";
  std::string image;
  std::string claim;  // a PersistentVolumeClaim that holds the workspace; empty: an empty one
  std::string proxy;  // the address of a Service in front of `cordon proxy`
  uint32_t uid = 0;   // not 0
  uint32_t gid = 0;
};

struct KubernetesObjects {
  std::string json;  // one List, for `kubectl apply -f`
  std::vector<Enforcement> enforcement;
  bool operator==(const KubernetesObjects&) const = default;
};

// Refuses (`unsupported`) ports, host sockets, devices and TLS interception, and
// a command that is to run outside of the workspace.
Result<KubernetesObjects> MakeKubernetes(const plan::Plan& plan, const KubernetesOptions& options);

}  // namespace cordon::backend
