// cordon check [POLICY] url URL|-
#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/policy_flags.h"
#include "guard/net_rules.h"
#include "guard/url.h"
#include "plan/net_plan.h"

namespace cordon::cli {
namespace {

struct Options {
  PolicyFlags flags;
  bool json = false;
  std::string guard;
  std::string value;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

struct Answer {
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied
  std::string detail;
  std::string hint;
};

// With no policy named it is the guard alone that is asked: any public host.
Result<guard::NetRules> Rules(const PolicyFlags& flags) {
  bool named = !flags.files.empty() || !flags.presets.empty() || !flags.assignments.empty() ||
               !flags.settings.empty();
  if (!named) {
    guard::NetRules rules;
    rules.mode = NetMode::kPublic;
    return rules;
  }
  CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(flags));
  return plan::ResolveNetRules(loaded.policy);
}

Answer CheckUrl(const guard::NetRules& rules, std::string_view value) {
  Result<guard::Url> url = guard::ParseUrl(value);
  if (!url) return {.reason = url.error().reason, .detail = url.error().message};
  guard::NetDecision decision = guard::DecideHost(rules, url->target.host, url->target.port);
  return {.allowed = decision.allowed,
          .reason = decision.reason,
          .detail = decision.rule,
          .hint = decision.hint};
}

std::string Json(std::string_view value, const Answer& answer) {
  nlohmann::ordered_json json = {
      {"value", base::IsValidUtf8(value) ? std::string(value) : base::Printable(value)},
      {"verdict", answer.allowed ? "allow" : "deny"},
      {"reason", answer.allowed ? "" : ReasonId(answer.reason)},
      {"detail", answer.detail}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string Text(std::string_view value, const Answer& answer) {
  std::string text = fmt::format(
      "{}: {}\n",
      answer.allowed ? Coloured("allow", Colour::kGreen) : Coloured("deny", Colour::kRed),
      base::Printable(value));
  text += fmt::format("  rule  {}\n", base::Printable(answer.detail));
  if (!answer.hint.empty()) text += fmt::format("  hint  {}\n", base::Printable(answer.hint));
  return text;
}

int CheckLines(const guard::NetRules& rules) {
  int status = kExitOk;
  for (std::string line; std::getline(std::cin, line);) {
    Answer answer = CheckUrl(rules, line);
    if (!answer.allowed) status = kExitNegative;
    Print(Json(line, answer));
  }
  return status;
}

Status CheckGuard(const std::string& word) {
  if (word == "url") return {};
  if (word == "path" || word == "env" || word == "command") {
    return base::Unsupported("check " + word + " is not supported yet", "url is");
  }
  return base::InvalidArgument(Reason::kUsage,
                               "check takes url, not \"" + base::Printable(word) + "\"");
}

int Run(const Options& options) {
  Status known = CheckGuard(options.guard);
  if (!known) return PrintError(known.error(), options.form()), kExitUsage;
  Result<guard::NetRules> rules = Rules(options.flags);
  if (!rules) return PrintError(rules.error(), options.form()), kExitUsage;
  if (options.value == "-") return CheckLines(*rules);
  Answer answer = CheckUrl(*rules, options.value);
  Print(options.json ? Json(options.value, answer) : Text(options.value, answer));
  return answer.allowed ? kExitOk : kExitNegative;
}

}  // namespace

Action SetupCheck(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddPolicyFlags(arguments, options->flags);
  arguments.Flag("--json", options->json, "Print JSON");
  arguments.Required("GUARD", options->guard, "url");
  arguments.Required("VALUE", options->value, "What is checked; - reads one value a line");
  arguments.Footer(
      "Nothing is resolved or fetched. With policy flags the policy's net rules decide, without\n"
      "any the guard alone: http and https to any public host.\n"
      "Exit status: 0 allowed, 1 denied (of several: one of them), 2 it could not be answered.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
