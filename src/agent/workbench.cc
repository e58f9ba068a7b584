#include "agent/workbench.h"

#include <algorithm>
#include <array>

#include "agent/mode.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "host/real_paths.h"
#include "host/resolve.h"

namespace cordon::agent {
namespace {

// Programs that ask nobody should know it; a prompt has no one to answer it.
constexpr std::array<std::pair<const char*, const char*>, 4> kUnattended = {{
    {"CI", "true"},
    {"DEBIAN_FRONTEND", "noninteractive"},
    {"GIT_TERMINAL_PROMPT", "0"},
    {"PAGER", "cat"},
}};

void PutFirstInPath(const std::string& directory, session::Request& request) {
  auto prepend = [&](std::string& path) { path = directory + (path.empty() ? "" : ":" + path); };
  auto set = request.policy.env.set.find("PATH");
  if (set != request.policy.env.set.end()) return prepend(set->second);
  std::string& path = request.environment["PATH"];
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
  prepend(path);
}

void AddTools(const std::string& directory, session::Request& request) {
  if (directory.empty()) return;
  PathRule rule{.path = directory, .optional = true, .origin = {"installed tools", 0}};
  request.policy.fs.read.push_back(rule);
  request.policy.fs.deny_write.push_back(rule);
  PutFirstInPath(directory, request);
}

}  // namespace

Result<Workbench> Workbench::Create(session::Request request, const std::string& tools,
                                    Lifetime lifetime) {
  AddTools(tools, request);
  for (const auto& [name, value] : kUnattended) request.policy.env.set.emplace(name, value);
  request.directory.clear();
  request.argv = {"true"};
  std::erase_if(request.environment,
                [](const auto& entry) { return IsNestedAgentVariable(entry.first); });
  CORDON_ASSIGN_OR_RETURN(std::shared_ptr<const LeakGuard> leaks,
                          LeakGuard::Create(request.policy, request.environment));
  request.policy.leaks.scan = false;  // the tools scan, not the run
  Workbench bench(std::move(request), lifetime);
  bench.leaks_ = std::move(leaks);
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(bench.request_));
  bench.backend_ = plan.backend;
  bench.enforcement_ = std::move(plan.enforcement);
  bench.request_.workspace = std::move(plan.fs.workspace);
  return bench;
}

std::string Workbench::Redact(std::string text, std::vector<std::string>& leaks) const {
  return leaks_ ? leaks_->Redact(text, leaks) : std::move(text);
}

Result<plan::Plan> Workbench::PlanNow() const {
  session::Request request = request_;
  request.backend = backend_;
  return session::Prepare(request);
}

session::Request Workbench::RequestFor(CommandOrder order) const {
  session::Request request = request_;
  request.argv = std::move(order.argv);
  request.directory = std::move(order.directory);
  for (auto& [name, value] : order.environment) request.policy.env.set[name] = std::move(value);
  std::optional<uint64_t>& wall = request.policy.limits.wall_ms;
  if (order.wall_ms) wall = std::min(wall.value_or(*order.wall_ms), *order.wall_ms);
  if (request.audit) request.audit = request.audit->ForAnotherRun();
  return request;
}

std::string Workbench::Absolute(std::string_view path) const {
  if (path == "~" || path.starts_with("~/")) {
    auto home = request_.environment.find("HOME");
    if (home != request_.environment.end()) {
      return guard::NormalizePath(home->second + std::string(path.substr(1)));
    }
  }
  // Not normalised: what is before a ".." may be a link.
  return guard::JoinPath(request_.workspace, path);
}

Result<std::string> Workbench::WorkingDirectory(const std::string& path) const {
  if (path.empty()) return request_.workspace;
  host::RealPaths probe;
  host::PathInfo info = probe.Inspect(Absolute(path));
  std::vector<std::string> allowed = {request_.workspace};
  for (const PathRule& rule : request_.policy.fs.write) {
    if (!rule.glob) allowed.push_back(probe.Inspect(rule.path).canonical);
  }
  std::erase(allowed, "");
  std::ranges::sort(allowed);
  auto repeated = std::ranges::unique(allowed);
  allowed.erase(repeated.begin(), repeated.end());
  bool inside = std::ranges::any_of(
      allowed, [&](const std::string& root) { return guard::IsInside(info.canonical, root); });
  if (info.directory() && inside) return info.canonical;
  return base::InvalidArgument(
      Reason::kArgumentInvalid,
      "working_dir " + base::Printable(path) +
          (info.directory() ? " is neither in the workspace nor in a writable path"
                            : " is not a directory"),
      "allowed are directories in: " + base::Join(allowed, ", "));
}

std::string ToolsDirectory(const Policy& policy,
                           const std::map<std::string, std::string>& environment) {
  if (policy.fs.data_dir) return guard::NormalizePath(policy.fs.data_dir->path + "/tools/bin");
  auto variable = [&](const char* name) {
    auto found = environment.find(name);
    bool absolute = found != environment.end() && found->second.starts_with('/');
    return absolute ? found->second : std::string();
  };
  std::string data = variable("XDG_DATA_HOME");
  std::string home = variable("HOME");
  if (data.empty() && home.empty()) return {};
  return guard::NormalizePath((data.empty() ? home + "/.local/share" : data) + "/cordon/tools/bin");
}

}  // namespace cordon::agent
