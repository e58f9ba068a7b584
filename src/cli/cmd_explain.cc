// cordon explain [POLICY] read|write|exec PATH · connect HOST[:PORT]
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_request.h"
#include "guard/path.h"
#include "host/permission.h"
#include "host/real_paths.h"
#include "host/resolve.h"
#include "plan/explain.h"
#include "plan/net_plan.h"

namespace cordon::cli {
namespace {

struct Options {
  RunFlags flags;
  bool json = false;
  std::string act;
  std::string subject;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

Result<plan::Act> ParseAct(const std::string& word) {
  if (word == "read") return plan::Act::kRead;
  if (word == "write") return plan::Act::kWrite;
  if (word == "exec") return plan::Act::kExecute;
  if (word == "command") {
    return base::Unsupported("explain command is not supported yet",
                             "read, write, exec and connect are");
  }
  return base::InvalidArgument(
      Reason::kUsage,
      "explain takes read, write, exec or connect, not \"" + base::Printable(word) + "\"");
}

Result<std::string> Absolute(const std::string& path) {
  if (path.empty()) return base::InvalidArgument(Reason::kUsage, "the path is empty");
  if (path.starts_with('/')) return path;
  char* here = get_current_dir_name();
  if (here == nullptr) return base::SystemError("getcwd", errno);
  std::string absolute = guard::JoinPath(here, path);
  free(here);
  return absolute;
}

host::Permission PermissionFor(plan::Act act) {
  switch (act) {
    case plan::Act::kRead:
      return host::Permission::kRead;
    case plan::Act::kWrite:
      return host::Permission::kWrite;
    case plan::Act::kExecute:
      return host::Permission::kExecute;
  }
  return host::Permission::kRead;
}

// What the policy allows the file system may still deny: this process has the
// identity that the run will have.
void AskPermissions(plan::Act act, const host::PathProbe& probe, plan::Explanation& answer) {
  if (!answer.verdict.allowed || !answer.on_host) return;
  if (!answer.exists && act != plan::Act::kWrite) {
    if (probe.Inspect(answer.path).type == host::FileType::kMissing) return;
  }
  std::string asked =
      act == plan::Act::kWrite ? host::DeepestExisting(probe, answer.path) : answer.path;
  Status permitted = host::CheckPermission(asked, PermissionFor(act));
  if (permitted) return;
  answer.verdict = {.rule = "file permissions",
                    .detail = fmt::format("the policy allows it, but uid {} may not: {}", geteuid(),
                                          permitted.error().message),
                    .hint = "its owner, its mode or another --user would allow it"};
}

std::string Utf8(const std::string& bytes) {
  return base::IsValidUtf8(bytes) ? bytes : base::Printable(bytes);
}

constexpr int kDefaultPort = 443;

// By the policy alone: nothing is planned, resolved or connected to.
Result<plan::Explanation> ExplainConnect(const Options& options) {
  Result<guard::HostPort> target = guard::ParseHostPort(options.subject, kDefaultPort);
  if (!target) {
    return plan::Explanation{
        .verdict = {.rule = "built in", .detail = std::move(target).error().message},
        .path = Utf8(options.subject)};
  }
  CORDON_ASSIGN_OR_RETURN(session::Request request,
                          MakeRequest(options.flags, {"true"}, Purpose::kAsk));
  plan::Explanation answer{.path = guard::ToString(*target)};
  CORDON_ASSIGN_OR_RETURN(answer.verdict, plan::ExplainConnect(request.policy, *target));
  return answer;
}

Result<plan::Explanation> Explain(const Options& options) {
  if (options.act == "connect") return ExplainConnect(options);
  CORDON_ASSIGN_OR_RETURN(plan::Act act, ParseAct(options.act));
  CORDON_ASSIGN_OR_RETURN(std::string path, Absolute(options.subject));
  CORDON_ASSIGN_OR_RETURN(session::Request request,
                          MakeRequest(options.flags, {"true"}, Purpose::kAsk));
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(request));
  host::RealPaths probe;
  plan::Explanation answer = plan::Explain(plan, request.policy.fs, probe, act, path);
  AskPermissions(act, probe, answer);
  return answer;
}

std::string Json(const Options& options, const plan::Explanation& answer) {
  const plan::Verdict& verdict = answer.verdict;
  nlohmann::ordered_json json = {{"allowed", verdict.allowed}, {"access", options.act}};
  if (options.act == "connect") {
    json["target"] = answer.path;
  } else {
    json["path"] = Utf8(options.subject);
    json["resolved"] = Utf8(answer.path);
    json["exists"] = answer.exists;
  }
  json["rule"] = Utf8(verdict.rule);
  json["source"] = Utf8(verdict.source);
  json["line"] = verdict.line;
  json["detail"] = Utf8(verdict.detail);
  json["hint"] = Utf8(verdict.hint);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string Text(const Options& options, const plan::Explanation& answer) {
  const plan::Verdict& verdict = answer.verdict;
  std::string text = fmt::format(
      "{}: {} {}\n",
      verdict.allowed ? Coloured("allowed", Colour::kGreen) : Coloured("denied", Colour::kRed),
      options.act, base::Printable(answer.path));
  auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<5} {}\n", name, base::Printable(value));
  };
  line("rule", verdict.rule);
  line("why", verdict.detail);
  line("hint", verdict.hint);
  return text;
}

int Run(const Options& options) {
  Result<plan::Explanation> answer = Explain(options);
  if (!answer) {
    PrintError(answer.error(), options.form());
    return kExitUsage;
  }
  Print(options.json ? Json(options, *answer) : Text(options, *answer));
  return answer->verdict.allowed ? kExitOk : kExitNegative;
}

}  // namespace

Action SetupExplain(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddRunFlags(arguments, options->flags);
  arguments.Flag("--json", options->json, "Print JSON");
  arguments.Required("ACCESS", options->act, "read, write, exec or connect");
  arguments.Required("SUBJECT", options->subject, "A path, which need not exist; or HOST[:PORT]");
  arguments.Footer(
      "The path is followed as the kernel would, from the current directory. A host is judged by\n"
      "its name, before anything is resolved; the port is 443 unless it is written.\n"
      "Exit status: 0 allowed, 1 denied, 2 the question could not be answered.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
