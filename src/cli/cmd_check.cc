// cordon check [POLICY] path|url|env|command VALUE|-
#include <fmt/core.h>

#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/policy_flags.h"
#include "guard/command_effects.h"
#include "guard/env.h"
#include "guard/net_rules.h"
#include "guard/path_guard.h"
#include "guard/url.h"
#include "plan/net_plan.h"

namespace cordon::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  PolicyFlags flags;
  bool json = false;
  bool null = false;
  bool write = false;
  bool ignore_case = false;
  std::string root, data_dir, config, tool;
  Strings identity;
  std::string up_to = "read-only";
  std::string guard;
  std::string value;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

struct Answer {
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied
  std::string detail;
  std::string hint;
  Json more = Json::object();  // what this guard tells besides
};

using Guard = std::function<Answer(std::string_view)>;

std::string Shown(std::string_view value) {
  return base::IsValidUtf8(value) ? std::string(value) : base::Printable(value);
}

bool NamesPolicy(const PolicyFlags& flags) {
  return !flags.files.empty() || !flags.presets.empty() || !flags.assignments.empty() ||
         !flags.settings.empty();
}

// ---- url -----------------------------------------------------------------------

Answer CheckUrl(const guard::NetRules& rules, std::string_view value) {
  Result<guard::Url> url = guard::ParseUrl(value);
  if (!url) return {.reason = url.error().reason, .detail = url.error().message};
  guard::NetDecision decision = guard::DecideHost(rules, url->target.host, url->target.port);
  return {.allowed = decision.allowed,
          .reason = decision.reason,
          .detail = decision.rule,
          .hint = decision.hint};
}

// With no policy named it is the guard alone that is asked: any public host.
Result<Guard> UrlGuard(const Options& options) {
  guard::NetRules rules;
  rules.mode = NetMode::kPublic;
  if (NamesPolicy(options.flags)) {
    CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(options.flags));
    CORDON_ASSIGN_OR_RETURN(rules, plan::ResolveNetRules(loaded.policy));
  }
  return Guard([rules](std::string_view value) { return CheckUrl(rules, value); });
}

// ---- path ----------------------------------------------------------------------

Answer CheckPath(const guard::PathRules& rules, guard::PathUse use, std::string_view value) {
  guard::PathDecision decision = guard::CheckPath(rules, value, use);
  Answer answer{.allowed = decision.allowed, .reason = decision.reason, .detail = decision.rule};
  answer.more["path"] = Shown(decision.path);
  answer.more["hard_linked"] = decision.hard_linked;
  return answer;
}

Result<Guard> PathGuard(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(policy::Context context, MakeContext(options.flags));
  guard::PathRules rules;
  rules.root = options.root.empty() ? context.workspace : options.root;
  rules.data_dir = options.data_dir;
  rules.config_path = options.config;
  rules.identity_files =
      options.identity.empty() ? guard::DefaultIdentityFiles() : options.identity;
  rules.names = options.ignore_case ? guard::NameCase::kIgnore : guard::NameCase::kExact;
  if (NamesPolicy(options.flags) && rules.data_dir.empty()) {
    CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(options.flags));
    if (loaded.policy.fs.data_dir) rules.data_dir = loaded.policy.fs.data_dir->path;
  }
  for (const std::string* path : {&rules.root, &rules.data_dir, &rules.config_path}) {
    if (path->empty() || path->starts_with('/')) continue;
    return base::InvalidArgument(Reason::kUsage,
                                 base::Printable(*path) + " is not an absolute path");
  }
  guard::PathUse use = options.write ? guard::PathUse::kWrite : guard::PathUse::kRead;
  return Guard([rules, use](std::string_view value) { return CheckPath(rules, use, value); });
}

// ---- env -----------------------------------------------------------------------

Answer CheckVariable(const std::string& tool, std::string_view value) {
  size_t equals = value.find('=');
  std::string_view name = value.substr(0, equals);
  std::optional<std::string_view> content;
  if (equals != value.npos) content = value.substr(equals + 1);
  guard::VariableDecision decision = guard::CheckVariable(name, content);
  bool tools = guard::IsToolVariable(tool, name) && decision.reason != Reason::kVariableInvalid;
  if (tools) return {.allowed = true, .detail = "a variable of " + tool};
  return {.allowed = decision.allowed, .reason = decision.reason, .detail = decision.rule};
}

Result<Guard> EnvGuard(const Options& options) {
  return Guard(
      [tool = options.tool](std::string_view value) { return CheckVariable(tool, value); });
}

// ---- command -------------------------------------------------------------------

struct CommandRules {
  guard::Effect up_to = guard::Effect::kReadOnly;
  Strings excluded;
};

Answer CheckCommand(const CommandRules& rules, std::string_view value) {
  guard::CommandReport report = guard::JudgeCommand(value);
  Answer answer{.allowed = report.effect <= rules.up_to,
                .reason = Reason::kCommandEffect,
                .detail = report.why};
  answer.more["effect"] = guard::EffectName(report.effect);
  answer.more["simple"] = report.simple;
  answer.more["excluded"] = guard::IsExcludedCommand(value, rules.excluded);
  answer.more["commands"] = Json::array();
  for (const guard::CommandFinding& finding : report.commands) {
    answer.more["commands"].push_back({{"command", Shown(finding.command)},
                                       {"name", Shown(finding.name)},
                                       {"effect", guard::EffectName(finding.effect)},
                                       {"detail", Shown(finding.why)}});
  }
  return answer;
}

Result<Guard> CommandGuard(const Options& options) {
  CommandRules rules;
  using guard::Effect;
  bool known = false;
  for (Effect effect : {Effect::kReadOnly, Effect::kLocalChange, Effect::kRemote}) {
    if (options.up_to != guard::EffectName(effect)) continue;
    rules.up_to = effect;
    known = true;
  }
  if (!known) {
    return base::InvalidArgument(Reason::kUsage,
                                 "--up-to takes read-only, local-change or remote, not \"" +
                                     base::Printable(options.up_to) + "\"");
  }
  if (NamesPolicy(options.flags)) {
    CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(options.flags));
    for (const Entry& entry : loaded.policy.exec.excluded) rules.excluded.push_back(entry.text);
  }
  return Guard([rules](std::string_view value) { return CheckCommand(rules, value); });
}

// ---- all of them ---------------------------------------------------------------

Result<Guard> ChooseGuard(const Options& options) {
  if (options.guard == "path") return PathGuard(options);
  if (options.guard == "url") return UrlGuard(options);
  if (options.guard == "env") return EnvGuard(options);
  if (options.guard == "command") return CommandGuard(options);
  return base::InvalidArgument(Reason::kUsage, "check takes path, url, env or command, not \"" +
                                                   base::Printable(options.guard) + "\"");
}

std::string AsJson(std::string_view value, const Answer& answer) {
  Json json = {{"value", Shown(value)},
               {"verdict", answer.allowed ? "allow" : "deny"},
               {"reason", answer.allowed ? "" : ReasonId(answer.reason)},
               {"detail", Shown(answer.detail)}};
  json.update(answer.more);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string AsText(std::string_view value, const Answer& answer) {
  std::string text = fmt::format(
      "{}: {}\n",
      answer.allowed ? Coloured("allow", Colour::kGreen) : Coloured("deny", Colour::kRed),
      base::Printable(value));
  if (!answer.detail.empty()) text += fmt::format("  rule    {}\n", base::Printable(answer.detail));
  for (const auto& [name, told] : answer.more.items()) {
    if (!told.is_string() || told.get<std::string>().empty()) continue;
    text += fmt::format("  {:<6}  {}\n", name, base::Printable(told.get<std::string>()));
  }
  if (answer.more.contains("commands")) {
    for (const Json& one : answer.more["commands"]) {
      text += fmt::format("  {:<12}  {}\n", one["effect"].get<std::string>(),
                          base::Printable(one["command"].get<std::string>()));
    }
  }
  if (!answer.hint.empty()) text += fmt::format("  hint    {}\n", base::Printable(answer.hint));
  return text;
}

int CheckLines(const Guard& guard, char end) {
  int status = kExitOk;
  for (std::string line; std::getline(std::cin, line, end);) {
    Answer answer = guard(line);
    if (!answer.allowed) status = kExitNegative;
    Print(AsJson(line, answer));
  }
  return status;
}

int Run(const Options& options) {
  Result<Guard> guard = ChooseGuard(options);
  if (!guard) return PrintError(guard.error(), options.form()), kExitUsage;
  if (options.value == "-") return CheckLines(*guard, options.null ? '\0' : '\n');
  Answer answer = (*guard)(options.value);
  Print(options.json ? AsJson(options.value, answer) : AsText(options.value, answer));
  return answer.allowed ? kExitOk : kExitNegative;
}

}  // namespace

Action SetupCheck(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddPolicyFlags(arguments, options->flags);
  arguments.Flag("--json", options->json, "Print JSON");
  arguments.Flag("--null", options->null, "With -: values end in NUL, not at the line's end");
  arguments.Option("--root", options->root, "DIR",
                   "path: must stay inside (default: the workspace)");
  arguments.Flag("--to-write", options->write, "path: to write it, not only to read");
  arguments.Option("--data-dir", options->data_dir, "DIR", "path: an agent's own state");
  arguments.Option("--config", options->config, "FILE", "path: its configuration, if elsewhere");
  arguments.Add({.name = "--identity",
                 .value = "NAME",
                 .doc = "path: a file not to write, for SOUL.md, IDENTITY.md, USER.md",
                 .group = "",
                 .target = &options->identity});
  arguments.Flag("--ignore-case", options->ignore_case, "path: compare names in either case");
  arguments.Option("--tool", options->tool, "PROGRAM", "env: the program that gets it");
  arguments.Option("--up-to", options->up_to, "EFFECT",
                   "command: allow read-only (default), local-change or remote");
  arguments.Required("GUARD", options->guard, "path, url, env or command");
  arguments.Required("VALUE", options->value, "What is checked; - reads one value a line");
  arguments.Footer(
      "path: may a tool read it (--to-write: write it)? Inside the root, links followed, and no\n"
      "system directory, agent state or identity file. url: may a tool fetch it? Nothing is\n"
      "resolved; with policy flags the net rules decide, without any public hosts are allowed.\n"
      "env NAME or NAME=VALUE: may a tool call set it? command LINE: what would it do? That is "
      "for\n"
      "prompts, never a boundary.\n"
      "Exit status: 0 allowed, 1 denied (of several: one of them), 2 it could not be answered.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
