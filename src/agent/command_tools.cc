#include "agent/command_tools.h"

#include <unistd.h>

#include <algorithm>

#include "agent/denials.h"
#include "agent/result_text.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/env.h"
#include "host/real_paths.h"

namespace cordon::agent {
namespace {

using Clock = RunningCommand::Clock;
using std::chrono::milliseconds;
using Type = Parameter::Type;
using Need = Parameter::Need;

constexpr int64_t kDefaultSeconds = 60;
constexpr int64_t kMostSeconds = 24 * 3600;
constexpr milliseconds kTick{100};
constexpr milliseconds kProgressEvery{1000};

const Parameter kWorkingDir{
    .name = "working_dir",
    .type = Type::kString,
    .doc = "Where to run: a directory in the workspace or a writable path; default the workspace"};
const Parameter kTimeout{
    .name = "timeout",
    .type = Type::kInteger,
    .doc = "Seconds until it is ended; default 60, at most what the policy says",
    .least = 1,
    .most = kMostSeconds};

size_t ShownLimit(const Workbench& bench) {
  return std::min<uint64_t>(kShownBytes, bench.policy().limits.output.value_or(kShownBytes));
}

Json StreamJson(const ShownOutput& output) {
  return {{"text", output.text}, {"bytes", output.total}, {"cut", output.cut}};
}

// What is asked for in `whole` only where something can still be asked.
std::string Whole(const Workbench& bench, const Job& job, const char* stream) {
  if (bench.lifetime() == Workbench::Lifetime::kOneCall) {
    return "write it to a file to have the whole";
  }
  return "the whole: shell_output with id \"" + job.id + "\" and stream \"" + stream + "\"";
}

// Denials that only show in what the command says about them.
void AddComplaints(const Workbench& bench, const Job& job, const ShownOutput& err,
                   Outcome& outcome) {
  if (outcome.kind == OutcomeKind::kExited && outcome.exit_code == 0) return;
  bool off = bench.policy().audit.denials == DenialDetail::kOff &&
             bench.policy().origins.contains("audit.denials");
  if (off || err.total == 0) return;
  Result<plan::Plan> plan = bench.PlanNow();
  if (!plan) return;
  host::RealPaths probe;
  for (Violation& denial : DenialsIn(err.text, job.directory, *plan, bench.policy().fs, probe)) {
    bool known = std::ranges::any_of(outcome.violations, [&](const Violation& other) {
      return other.subject == denial.subject;
    });
    if (!known) outcome.violations.push_back(std::move(denial));
  }
}

ToolResult EndOf(const Workbench& bench, const Job& job, uint64_t wall_ms, Outcome outcome) {
  size_t limit = ShownLimit(bench);
  ShownOutput out = job.run->Show(Stream::kOut, limit, Whole(bench, job, "stdout"));
  ShownOutput err = job.run->Show(Stream::kErr, limit, Whole(bench, job, "stderr"));
  if (job.run->waited_for_input() && outcome.kind == OutcomeKind::kCancelled) {
    outcome.reason = Reason::kWaitingForInput;
  }
  AddComplaints(bench, job, err, outcome);
  Json structured = {
      {"id", job.id},
      {"kind", outcome.reason == Reason::kWaitingForInput ? ReasonId(outcome.reason)
                                                          : OutcomeKindName(outcome.kind)},
      {"reason", ReasonId(outcome.reason)},
      {"exit_status", outcome.ExitStatus()}};
  if (outcome.kind == OutcomeKind::kExited) structured["exit_code"] = outcome.exit_code;
  if (outcome.kind == OutcomeKind::kSignaled) structured["signal"] = outcome.signal;
  structured["stdout"] = StreamJson(out);
  structured["stderr"] = StreamJson(err);
  structured["violations"] = ViolationsJson(outcome.violations);
  structured["usage"] = {{"wall_ms", outcome.usage.wall_ms}, {"cpu_ms", outcome.usage.cpu_ms}};
  ToolResult result(std::move(structured), Format({.state = StateOf(outcome, wall_ms),
                                                   .out = out,
                                                   .err = err,
                                                   .violations = outcome.violations,
                                                   .hint = HintOf(outcome)}));
  result.violations = std::move(outcome.violations);
  result.leaks = job.run->Leaks();
  if (outcome.kind != OutcomeKind::kExited) result.state = ToolResult::State::kFailed;
  return result;
}

void Progress(const RunningCommand& run, const CallContext& context, uint64_t& told) {
  uint64_t written = run.Written();
  if (!context.progress || written == told) return;
  told = written;
  context.progress(std::to_string(written) + " bytes of output; " + run.LastLine());
}

// Until it has ended, or the caller wants no more of it.
void Wait(const Job& job, const CallContext& context) {
  uint64_t told = 0;
  Clock::time_point tell = Clock::now() + kProgressEvery;
  while (!job.run->WaitUntil(Clock::now() + kTick)) {
    if (context.cancellation.cancelled()) job.run->Cancel();
    if (Clock::now() < tell) continue;
    tell = Clock::now() + kProgressEvery;
    Progress(*job.run, context, told);
  }
}

Result<ToolResult> Foreground(const Workbench& bench, const Job& job, uint64_t wall_ms,
                              const CallContext& context) {
  Wait(job, context);
  const Result<Outcome>& outcome = *job.run->outcome();
  if (!outcome) return outcome.error();
  return EndOf(bench, job, wall_ms, *outcome);
}

ToolResult InBackground(const Job& job) {
  return {Json{{"id", job.id}, {"kind", "running"}},
          "[running in the background as " + job.id +
              "; shell_output tells how it is doing, shell_kill ends it]\n"};
}

uint64_t WallOf(const Workbench& bench, const Json& arguments) {
  auto asked = static_cast<uint64_t>(NumberOf(arguments, "timeout", kDefaultSeconds)) * 1000;
  return std::min(asked, bench.policy().limits.wall_ms.value_or(asked));
}

Result<ToolResult> Shell(const Workbench& bench, Jobs& jobs, const Json& arguments,
                         CallContext& context) {
  std::string line = TextOf(arguments, "command");
  CommandOrder order;
  CORDON_ASSIGN_OR_RETURN(order.directory,
                          bench.WorkingDirectory(TextOf(arguments, "working_dir")));
  const char* shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  order.argv = {shell, "-c", line};
  bool background = SwitchOf(arguments, "background") == Switch::kOn;
  if (background && bench.lifetime() == Workbench::Lifetime::kOneCall) {
    return base::InvalidArgument(Reason::kArgumentInvalid,
                                 "shell: nothing can stay in the background of a single call",
                                 "`cordon mcp` keeps commands in the background");
  }
  uint64_t wall = WallOf(bench, arguments);
  // A command in the background has the time it was given, or all that the policy gives.
  if (!background || arguments.contains("timeout")) order.wall_ms = wall;
  CORDON_ASSIGN_OR_RETURN(Job job,
                          jobs.Start(line, bench.RequestFor(std::move(order)), bench.leaks()));
  if (background) return InBackground(job);
  return Foreground(bench, job, wall, context);
}

Result<ToolResult> Exec(const Workbench& bench, Jobs& jobs, const Json& arguments,
                        CallContext& context) {
  CommandOrder order;
  CORDON_ASSIGN_OR_RETURN(order.directory,
                          bench.WorkingDirectory(TextOf(arguments, "working_dir")));
  order.argv = {TextOf(arguments, "program")};
  if (order.argv[0].empty()) {
    return base::InvalidArgument(Reason::kArgumentInvalid, "exec: \"program\" is empty");
  }
  if (arguments.contains("args")) {
    for (const Json& word : arguments["args"]) order.argv.push_back(word.get<std::string>());
  }
  if (arguments.contains("env")) {
    for (const auto& item : arguments["env"].items()) {
      std::string value = item.value().get<std::string>();
      guard::VariableDecision decision = guard::CheckVariable(item.key(), value);
      if (!decision.allowed) {
        return base::InvalidArgument(decision.reason, "exec: env: " + base::Printable(item.key()) +
                                                          " is refused: " + decision.rule);
      }
      order.environment[item.key()] = std::move(value);
    }
  }
  uint64_t wall = WallOf(bench, arguments);
  order.wall_ms = wall;
  std::string shown = base::Join(order.argv, " ");
  CORDON_ASSIGN_OR_RETURN(Job job,
                          jobs.Start(shown, bench.RequestFor(std::move(order)), bench.leaks()));
  return Foreground(bench, job, wall, context);
}

ToolResult ListJobs(const Jobs& jobs) {
  Json list = Json::array();
  std::string text;
  for (const Job& job : jobs.All()) {
    bool ended = job.run->WaitUntil(Clock::now());
    list.push_back({{"id", job.id},
                    {"command", ToUtf8(job.command)},
                    {"kind", ended ? "ended" : "running"},
                    {"bytes", job.run->Written()}});
    text += job.id + (ended ? " ended   " : " running ") + base::Printable(job.command) + "\n";
  }
  return {Json{{"commands", std::move(list)}}, text.empty() ? "[no commands]\n" : text};
}

Result<ToolResult> Output(const Workbench& bench, const Jobs& jobs, const Json& arguments,
                          const CallContext& context) {
  std::string id = TextOf(arguments, "id");
  if (id.empty()) return ListJobs(jobs);
  CORDON_ASSIGN_OR_RETURN(Job job, jobs.Find(id));
  std::string name = TextOf(arguments, "stream", "stdout");
  if (name != "stdout" && name != "stderr") {
    return base::InvalidArgument(Reason::kArgumentInvalid,
                                 "shell_output: \"stream\" is stdout or stderr");
  }
  Clock::time_point until = Clock::now() + std::chrono::seconds(NumberOf(arguments, "wait", 0));
  bool ended = job.run->WaitUntil(Clock::now());
  while (!ended && Clock::now() < until && !context.cancellation.cancelled()) {
    ended = job.run->WaitUntil(std::min(until, Clock::now() + kTick));
  }
  auto offset = static_cast<uint64_t>(NumberOf(arguments, "offset", 0));
  OutputRecord::Part part =
      job.run->From(name == "stdout" ? Stream::kOut : Stream::kErr, offset, ShownLimit(bench));
  Json structured = {{"id", job.id},      {"kind", "running"},     {"stream", name},
                     {"text", part.text}, {"offset", part.offset}, {"next_offset", part.next}};
  std::string state = "running";
  std::vector<Violation> violations;
  if (ended) {
    const Result<Outcome>& outcome = *job.run->outcome();
    if (!outcome) return outcome.error();
    ToolResult end = EndOf(bench, job, 0, *outcome);
    for (const char* key : {"kind", "reason", "exit_status", "exit_code", "signal", "violations"}) {
      if (end.structured.contains(key)) structured[key] = end.structured[key];
    }
    violations = std::move(end.violations);
    state = StateOf(*outcome, 0);
  }
  std::string text = "[" + job.id + ": " + state + "; " + name + " from byte " +
                     std::to_string(part.offset) + ", next_offset " + std::to_string(part.next) +
                     "]\n" + part.text;
  if (!text.ends_with('\n')) text += '\n';
  ToolResult result(std::move(structured), text + ViolationsBlock(violations));
  result.violations = std::move(violations);
  result.leaks = job.run->Leaks();
  return result;
}

Result<ToolResult> Kill(const Workbench& bench, const Jobs& jobs, const Json& arguments) {
  CORDON_ASSIGN_OR_RETURN(Job job, jobs.Find(TextOf(arguments, "id")));
  job.run->Cancel();
  job.run->WaitUntil(Clock::time_point::max());
  const Result<Outcome>& outcome = *job.run->outcome();
  if (!outcome) return outcome.error();
  ToolResult result = EndOf(bench, job, 0, *outcome);
  result.state = ToolResult::State::kDone;
  return result;
}

}  // namespace

std::vector<Tool> CommandTools(const Workbench& bench, Jobs& jobs) {
  ToolInfo shell{
      .name = "shell",
      .title = "Run a shell command",
      .description =
          "Runs one command line in a sandbox and returns its exit code and output. There is no "
          "terminal and no input. What the sandbox denies is told with the rule that denied it.",
      .parameters = {{.name = "command",
                      .type = Type::kString,
                      .need = Need::kRequired,
                      .doc = "The command line, for bash -c (or sh -c)"},
                     kWorkingDir,
                     kTimeout,
                     {.name = "background",
                      .type = Type::kBoolean,
                      .doc = "Return an id at once; shell_output and shell_kill take it"}},
      .effect = Effect::kLocalMutation};
  ToolInfo exec{.name = "exec",
                .title = "Run a program",
                .description =
                    "Runs one program in a sandbox, without a shell: arguments are passed as they "
                    "are. Returns its exit code and output.",
                .parameters = {{.name = "program",
                                .type = Type::kString,
                                .need = Need::kRequired,
                                .doc = "A name in PATH, or a path"},
                               {.name = "args", .type = Type::kStrings, .doc = "Its arguments"},
                               {.name = "env",
                                .type = Type::kStringMap,
                                .doc = "Variables to set; those that load code are refused"},
                               kWorkingDir,
                               kTimeout},
                .effect = Effect::kLocalMutation};
  ToolInfo output{
      .name = "shell_output",
      .title = "Output of a command",
      .description =
          "How a command in the background is doing, and its output from an offset on; "
          "also the whole of an output that was cut. Without an id: the list of commands.",
      .parameters = {{.name = "id", .type = Type::kString, .doc = "Of shell"},
                     {.name = "stream", .type = Type::kString, .doc = "stdout (default) or stderr"},
                     {.name = "offset",
                      .type = Type::kInteger,
                      .doc = "The byte to begin with: next_offset of the last call; default 0"},
                     {.name = "wait",
                      .type = Type::kInteger,
                      .doc = "Seconds to wait for its end; default 0",
                      .most = 600}},
      .effect = Effect::kReadOnly};
  ToolInfo kill{.name = "shell_kill",
                .title = "End a command",
                .description = "Ends a command in the background with all that it started.",
                .parameters = {{.name = "id",
                                .type = Type::kString,
                                .need = Need::kRequired,
                                .doc = "Of shell"}},
                .effect = Effect::kLocalMutation};
  return {
      {shell, [&](const Json& a, CallContext& c) { return Shell(bench, jobs, a, c); }},
      {exec, [&](const Json& a, CallContext& c) { return Exec(bench, jobs, a, c); }},
      {output, [&](const Json& a, CallContext& c) { return Output(bench, jobs, a, c); }},
      {kill, [&](const Json& a, CallContext&) { return Kill(bench, jobs, a); }},
  };
}

}  // namespace cordon::agent
