// What `run`, `shell`, `plan` and `explain` share: the flags that lead to a
// request, and giving up root before it is planned.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/policy_flags.h"
#include "session/session.h"

namespace cordon::cli {

struct RunFlags {
  PolicyFlags policy;
  bool no_floor = false;
  std::string user;  // "UID" or "UID:GID"; empty: nobody
};

// Binds the flags; `flags` must outlive the parse.
void AddRunFlags(Arguments& arguments, RunFlags& flags);

// The request as a run of `argv` from here would have it, with no terminal.
Result<session::Request> ReadRequest(const RunFlags& flags, std::vector<std::string> argv);

// Whom a run that is started by root is for: --user, or nobody.
Result<session::Unprivileged> TargetUser(const RunFlags& flags);

// kRun opens what only the caller's own rights may open: the audit log.
enum class Purpose { kAsk, kRun };

// As ReadRequest. A process of root's has given up root for good after this.
Result<session::Request> MakeRequest(const RunFlags& flags, std::vector<std::string> argv,
                                     Purpose purpose);

// What a subcommand prints about a command: takes the words of it, prints the text or the
// error, and returns the exit status.
int PrintAbout(Strings& argv, OutputForm form, const std::function<Result<std::string>()>& text);

// The command among the words after the options: without a leading "--".
Result<Strings> CommandOf(Strings words);

}  // namespace cordon::cli
