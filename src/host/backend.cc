#include "host/backend.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "host/bubblewrap.h"
#include "host/kernel_probe.h"
#include "host/userns_probe.h"

namespace cordon::host {
namespace {

struct Row {
  Backend backend;
  const char* name;
  const char* detail;
  std::vector<std::string_view> needs;  // findings
};

// The whole of the choice.
const std::vector<Row>& Rows() {
  static const std::vector<Row> kRows = {
      {Backend::kNamespaces,
       "namespaces",
       "own namespaces, landlock and seccomp",
       {"user namespaces", "mount namespace", "pid namespace", "network namespace",
        "ipc, uts and cgroup namespaces", "seccomp notification"}},
      {Backend::kBubblewrap,
       "bubblewrap",
       "the host's bubblewrap makes the namespaces; landlock and seccomp inside",
       {"bubblewrap", "seccomp notification"}},
      {Backend::kLandlock,
       "landlock",
       "no namespace: landlock, seccomp and a broker that opens files for the command",
       {"landlock", "seccomp notification"}},
      {Backend::kNone, "none", "no containment; only when asked for by name", {}},
  };
  return kRows;
}

const Finding* Find(const std::vector<Finding>& findings, std::string_view feature) {
  auto found = std::ranges::find(findings, feature, &Finding::feature);
  return found == findings.end() ? nullptr : &*found;
}

}  // namespace

std::string_view BackendName(Backend backend) {
  for (const Row& row : Rows()) {
    if (row.backend == backend) return row.name;
  }
  return "";
}

Result<Backend> ParseBackend(std::string_view name) {
  for (const Row& row : Rows()) {
    if (row.name == name) return row.backend;
  }
  return base::Unsupported("--backend " + base::Printable(std::string(name)) + " is not supported",
                           "namespaces, bubblewrap, landlock or none");
}

std::vector<BackendState> Backends(const std::vector<Finding>& findings) {
  std::vector<BackendState> table;
  for (const Row& row : Rows()) {
    BackendState state{row.backend, true, row.detail};
    for (std::string_view need : row.needs) {
      const Finding* finding = Find(findings, need);
      if (finding != nullptr && finding->available) continue;
      state.available = false;
      state.detail = "no " + std::string(need);
      if (finding != nullptr && !finding->detail.empty()) state.detail += ": " + finding->detail;
      break;
    }
    table.push_back(std::move(state));
  }
  return table;
}

Backend Choose(const std::vector<BackendState>& table) {
  for (const BackendState& state : table) {
    if (state.available) return state.backend;
  }
  return Backend::kNone;
}

std::vector<Finding> ExamineForChoice() {
  std::vector<Finding> findings = ExamineNamespaces();
  findings.push_back(ExamineBubblewrap());
  findings.push_back(ExamineLandlock());
  findings.push_back(ExamineSeccompNotify());
  return findings;
}

}  // namespace cordon::host
