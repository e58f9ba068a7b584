// Runs in: supervisor. Pure, but for what the probe is asked about "/".
//
// A plan as an OCI runtime bundle: config.json, and the directories and files
// beside it that the mounts need. Any engine that takes a bundle enforces it
// with its own mounts, namespaces, seccomp and cgroups.
#pragma once

#include <string>
#include <vector>

#include "host/path_probe.h"
#include "plan/plan.h"

namespace cordon::backend {

// Something to be made in the bundle's directory, in this order.
struct BundleEntry {
  enum class Kind { kDirectory, kFile, kLink };
  Kind kind = Kind::kDirectory;
  std::string path;  // below the bundle
  std::string data;  // of a file; the target of a link
  uint32_t mode = 0755;
  bool operator==(const BundleEntry&) const = default;
};

struct OciOptions {
  std::string bundle;  // where it will lie; absolute
  // The ids that the command has on the host. An engine that is started by an
  // ordinary user can give it no others than that user's, in a user namespace.
  uint32_t uid = 0;
  uint32_t gid = 0;
  enum class StartedBy { kRoot, kUser } started_by = StartedBy::kUser;
};

struct OciBundle {
  std::vector<BundleEntry> entries;  // config.json is the last
  std::vector<Enforcement> enforcement;
  // Variables that are passed on but may be secrets: they are not in the bundle.
  std::vector<std::string> variables_left_out;
  bool operator==(const OciBundle&) const = default;
};

// Refuses (`unsupported`) what a bundle cannot carry: egress by name, ports,
// host sockets, TLS interception, and names that are not UTF-8.
Result<OciBundle> MakeOciBundle(const plan::Plan& plan, const host::PathProbe& probe,
                                const OciOptions& options);

}  // namespace cordon::backend
