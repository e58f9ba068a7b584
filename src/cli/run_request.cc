#include "cli/run_request.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/policy_file.h"
#include "cli/policy_watch.h"
#include "guard/path.h"
#include "session/audit_trail.h"

namespace cordon::cli {
namespace {

Result<session::Unprivileged> ParseUser(const std::string& text) {
  session::Unprivileged user;
  if (text.empty()) return user;
  const char* end = text.data() + text.size();
  auto [next, error] = std::from_chars(text.data(), end, user.uid);
  user.gid = user.uid;
  bool valid = error == std::errc();
  if (valid && next != end && *next == ':') {
    auto [last, group_error] = std::from_chars(next + 1, end, user.gid);
    valid = group_error == std::errc() && last == end;
  } else {
    valid = valid && next == end;
  }
  if (!valid || user.uid == 0 || user.gid == 0) {
    return base::InvalidArgument(Reason::kUsage, "--user takes UID or UID:GID, neither of them 0");
  }
  return user;
}

void TellWhatIsLost(const LoadedPolicy& loaded) {
  for (const policy::Imported& imported : loaded.imported) {
    auto lost = std::ranges::count(imported.notes, policy::SettingsNote::Weight::kLost,
                                   &policy::SettingsNote::weight);
    if (lost == 0) continue;
    Tell(fmt::format(
        "cordon: {}: {} of its words {} no meaning here; `cordon policy import` says which\n",
        base::Printable(imported.name), lost, lost == 1 ? "has" : "have"));
  }
}

Status LeaveRootIfRoot(const RunFlags& flags, session::Request& request) {
  CORDON_ASSIGN_OR_RETURN(session::Unprivileged user, ParseUser(flags.user));
  if (geteuid() == 0) {
    return session::LeaveRoot(request, flags.user.empty() ? std::nullopt : std::optional(user));
  }
  if (flags.user.empty()) return {};
  return base::InvalidArgument(Reason::kUsage, "--user is for a run started by root");
}

}  // namespace

void AddRunFlags(Arguments& arguments, RunFlags& flags) {
  AddPolicyFlags(arguments, flags.policy);
  arguments.Option("--user", flags.user, "UID[:GID]",
                   "Started by root: run as this user (default: nobody)");
  arguments.Flag("--no-floor", flags.no_floor, "Lift the floor; the record says so");
}

Result<session::Unprivileged> TargetUser(const RunFlags& flags) { return ParseUser(flags.user); }

Result<session::Request> ReadRequest(const RunFlags& flags, std::vector<std::string> argv) {
  std::optional<host::Backend> backend;
  if (!flags.policy.backend.empty()) {
    CORDON_ASSIGN_OR_RETURN(backend, host::ParseBackend(flags.policy.backend));
  }
  CORDON_TRY(ParseUser(flags.user));
  CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(flags.policy));
  TellWhatIsLost(loaded);
  // Without the floor nothing keeps the command from the files that it is judged by.
  session::NetNews news;
  if (!flags.no_floor) news = WatchNetRules(flags.policy, loaded);
  bool named = loaded.workspace_choice == WorkspaceChoice::kNamed;
  session::Request request{
      .policy = std::move(loaded.policy),
      .workspace = loaded.context.workspace,
      .workspace_chosen =
          named ? session::Request::Chosen::kNamed : session::Request::Chosen::kImplied,
      .argv = std::move(argv),
      .environment = std::move(loaded.context.env),
      .floor = flags.no_floor ? plan::FsInputs::Floor::kOff : plan::FsInputs::Floor::kOn,
      .net_news = std::move(news),
      .program = RealPath("/proc/self/exe").value_or(""),
      .backend = backend};
  // A named workspace need not be where we are; if we are inside it, we stay.
  if (char* here = get_current_dir_name()) {
    if (guard::IsInside(here, request.workspace)) request.directory = here;
    free(here);
  }
  return request;
}

Result<session::Request> MakeRequest(const RunFlags& flags, std::vector<std::string> argv,
                                     Purpose purpose) {
  CORDON_ASSIGN_OR_RETURN(session::Request request, ReadRequest(flags, std::move(argv)));
  if (purpose == Purpose::kRun) CORDON_TRY(session::OpenAudit(request));
  CORDON_TRY(LeaveRootIfRoot(flags, request));
  return request;
}

Result<Strings> CommandOf(Strings words) {
  if (words.empty()) return words;
  if (words[0] == "--") {
    words.erase(words.begin());
  } else if (words[0].starts_with('-')) {
    return base::InvalidArgument(Reason::kUsage, "unknown flag " + base::Printable(words[0]),
                                 "a command that begins with a dash goes after `--`");
  }
  return words;
}

int PrintAbout(Strings& argv, OutputForm form, const std::function<Result<std::string>()>& text) {
  Result<Strings> words = CommandOf(argv);
  if (!words) {
    PrintError(words.error(), form);
    return kExitRefused;
  }
  argv = std::move(*words);
  Result<std::string> made = text();
  if (!made) {
    PrintError(made.error(), form);
    return kExitRefused;
  }
  Print(*made);
  return kExitOk;
}

}  // namespace cordon::cli
