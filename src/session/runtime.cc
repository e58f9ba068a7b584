#include "cordon/runtime.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/strings.h"
#include "cordon/policy_builder.h"
#include "guard/shell_reader.h"
#include "host/backend.h"
#include "host/doctor.h"
#include "policy/render.h"
#include "session/session.h"
#include "sys/process.h"

namespace cordon {
namespace {

// Of `cordon run --policy-env`.
constexpr const char* kPolicyVariable = "CORDON_POLICY";

Result<std::string> ProgramOf(const std::string& named) {
  if (!named.empty()) {
    if (named.starts_with('/') && access(named.c_str(), X_OK) == 0) return named;
    return base::InvalidArgument(Reason::kCommandInvalid,
                                 base::Printable(named) + " is not a program, by its whole path");
  }
  for (const char* place : {"/usr/bin/cordon", "/usr/local/bin/cordon"}) {
    struct stat status;
    bool there = stat(place, &status) == 0 && S_ISREG(status.st_mode);
    if (there && status.st_uid == 0 && (status.st_mode & 0022) == 0) return std::string(place);
  }
  return base::Unsupported("cordon is not installed in /usr/bin or /usr/local/bin",
                           "install it, or name its path");
}

Result<std::string> WorkspaceOf(const std::string& named) {
  if (!named.empty() && !named.starts_with('/')) {
    return base::InvalidArgument(Reason::kWorkspaceInvalid, "the workspace must be absolute");
  }
  if (!named.empty()) return named;
  char* here = get_current_dir_name();
  if (here == nullptr) return base::SystemError("working directory", errno);
  std::string directory = here;
  free(here);
  return directory;
}

session::Request RequestFor(const Policy& policy, const SandboxOptions& options) {
  session::Request request{.policy = policy,
                           .workspace = options.workspace,
                           .argv = {"true"},
                           .environment = options.environment};
  if (request.environment.empty()) request.environment = sys::Environment();
  // Who runs outside was decided before.
  request.policy.exec.excluded.clear();
  request.policy.exec.allow_unsandboxed = false;
  return request;
}

bool BeginsWith(const std::vector<guard::ShellWord>& words, const std::string& entry) {
  std::vector<std::string> wanted = base::Split(entry, ' ');
  if (entry.empty() || words.size() < wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (words[i].text != wanted[i]) return false;
  }
  return true;
}

// The words of a line that is one literal simple command and nothing else; else none.
std::vector<guard::ShellWord> PlainWords(std::string_view line) {
  Result<guard::ShellLine> read = guard::ReadShell(line);
  if (!read || !read->plain || read->opaque || read->commands.size() != 1) return {};
  const guard::SimpleCommand& command = read->commands[0];
  if (!command.assignments.empty() || !command.redirections.empty()) return {};
  for (const guard::ShellWord& word : command.words) {
    // A home directory: the shell would put it in.
    if (!word.literal || word.splits || word.raw.starts_with('~')) return {};
  }
  return command.words;
}

bool IsExcluded(const std::vector<guard::ShellWord>& words, const Policy& policy) {
  return std::ranges::any_of(policy.exec.excluded,
                             [&](const Entry& entry) { return BeginsWith(words, entry.text); });
}

}  // namespace

Dependencies CheckDependencies() {
  std::vector<host::Finding> findings = host::Examine();
  std::vector<host::BackendState> table = host::Backends(findings);
  Dependencies report;
  host::Backend best = host::Choose(table);
  report.backend = host::BackendName(best);
  report.available = best != host::Backend::kNone;
  for (const host::BackendState& state : table) {
    std::string name(host::BackendName(state.backend));
    report.backends.push_back({name, state.available, state.detail});
    if (report.available || state.backend == host::Backend::kNone) continue;
    report.reason += (report.reason.empty() ? "" : "; ") + name + ": " + state.detail;
  }
  for (const host::Finding& finding : findings) {
    bool helps = !report.available && !finding.available && !finding.remedy.empty();
    if (helps) report.reason += "; " + finding.remedy;
  }
  report.features = host::Enforceable(findings);
  return report;
}

bool IsSupported() {
#ifdef __linux__
  return true;
#else
  return false;
#endif
}

bool IsAvailable() {
  static const bool kAvailable =
      host::Choose(host::Backends(host::ExamineForChoice())) != host::Backend::kNone;
  return kAvailable;
}

Result<CommandLine> WrapCommand(const std::vector<std::string>& argv, const Policy& policy,
                                const WrapOptions& options) {
  if (argv.empty() || argv[0].empty()) {
    return base::InvalidArgument(Reason::kCommandInvalid, "no command given");
  }
  CORDON_ASSIGN_OR_RETURN(std::string program, ProgramOf(options.program));
  CORDON_ASSIGN_OR_RETURN(std::string workspace, WorkspaceOf(options.workspace));
  Policy inside = policy;
  inside.exec.excluded.clear();
  inside.exec.allow_unsandboxed = false;
  CommandLine line;
  line.argv = {program, "run", "--policy-env", kPolicyVariable, "--workspace", std::move(workspace),
               "--"};
  line.argv.insert(line.argv.end(), argv.begin(), argv.end());
  line.environment[kPolicyVariable] = policy::RenderJson(inside);
  return line;
}

Result<CommandLine> ProtectedCommand(const std::vector<std::string>& argv,
                                     const std::string& data_dir, const WrapOptions& options) {
  if (!data_dir.starts_with('/')) {
    return base::InvalidArgument(Reason::kPolicyBadValue, "the data directory must be absolute");
  }
  CORDON_ASSIGN_OR_RETURN(std::string workspace, WorkspaceOf(options.workspace));
  CORDON_ASSIGN_OR_RETURN(
      Policy policy, PolicyBuilder(workspace).Preset("protect").DataDirectory(data_dir).Build());
  return WrapCommand(argv, policy, options);
}

Result<std::map<std::string, std::string>> EnvironmentFor(const Policy& policy,
                                                          const SandboxOptions& options) {
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(RequestFor(policy, options)));
  std::map<std::string, std::string> chosen;
  for (const std::string& variable : plan.environment) {
    size_t equals = variable.find('=');
    std::string name = variable.substr(0, equals);
    bool ours = std::ranges::find(plan.chosen_environment, name) != plan.chosen_environment.end();
    if (ours) chosen[name] = variable.substr(equals + 1);
  }
  return chosen;
}

Result<Placement> PlaceCommand(std::string_view line, const Policy& policy, Bypass bypass) {
  bool may = policy.exec.allow_unsandboxed && policy.trust != Trust::kRequire;
  if (bypass == Bypass::kAsked) {
    if (may) return Placement::kOutside;
    return Error{.code = Code::kDenied,
                 .reason = Reason::kExecDenied,
                 .message = "the policy lets no command run outside",
                 .hint = "exec.allow_unsandboxed = true allows it, where trust is not \"require\""};
  }
  return may && IsExcluded(PlainWords(line), policy) ? Placement::kOutside : Placement::kInside;
}

Result<CommandLine> Transform(const TransformRequest& request, const Policy& policy) {
  CORDON_ASSIGN_OR_RETURN(Placement placement, PlaceCommand(request.line, policy, request.bypass));
  if (placement == Placement::kOutside) {
    CommandLine outside{.contained = false};
    // What was judged as words is run as words: no shell reads it again.
    for (guard::ShellWord& word : PlainWords(request.line)) {
      outside.argv.push_back(std::move(word.text));
    }
    if (outside.argv.empty() || request.bypass == Bypass::kAsked) {
      outside.argv = {"/bin/sh", "-c", request.line};
    }
    return outside;
  }
  Policy inside = policy;
  if (request.proxy_port != 0) {
    if (policy.net.mode != NetMode::kProxy && policy.net.mode != NetMode::kPublic) {
      return base::InvalidArgument(Reason::kPolicyBadValue,
                                   "a proxy's port needs net.mode = \"proxy\"");
    }
    inside.net.mode = NetMode::kProxy;
    inside.net.external = {.http = request.proxy_port};
  }
  return WrapCommand({"/bin/sh", "-c", request.line}, inside,
                     {.workspace = request.workspace, .program = request.program});
}

bool MayAutoAllow(std::string_view line, const Policy& policy, const SandboxOptions& options) {
  Result<Placement> placement = PlaceCommand(line, policy, Bypass::kNo);
  if (!placement || *placement != Placement::kInside || !IsAvailable()) return false;
  Result<plan::Plan> plan = session::Prepare(RequestFor(policy, options));
  return plan && plan->backend != host::Backend::kNone && host::DefaultIsFull(plan->enforcement);
}

}  // namespace cordon
