// cordon plan [POLICY] -- CMD ARG…
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "backend/child_spec.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_request.h"

namespace cordon::cli {
namespace {

struct Options {
  RunFlags flags;
  bool json = false;
  bool steps = false;
  std::vector<std::string> argv;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

std::vector<std::string> Described(const backend::ChildSpec& spec) {
  std::vector<std::string> lines;
  if (spec.bubblewrap) {
    std::string line = base::Printable(spec.bubblewrap->program);
    for (const std::string& word : spec.bubblewrap->arguments) line += " " + base::Printable(word);
    lines.push_back(std::move(line));
  }
  for (const backend::Step& step : spec.steps) lines.push_back(backend::Describe(step));
  return lines;
}

std::string Text(const plan::Plan& plan, const std::vector<std::string>& steps) {
  std::string text = plan::Describe(plan);
  if (!steps.empty()) text += "\nsteps between clone and exec\n";
  size_t number = 0;
  for (const std::string& step : steps) text += fmt::format("  {:>3}  {}\n", ++number, step);
  return text;
}

Result<std::string> Plan(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(session::Request request,
                          MakeRequest(options.flags, options.argv, Purpose::kAsk));
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(request));
  // Also where the steps are not shown: a plan that cannot be compiled is none.
  CORDON_ASSIGN_OR_RETURN(backend::ChildSpec spec, session::Compile(plan));
  std::vector<std::string> steps = options.steps ? Described(spec) : std::vector<std::string>();
  if (!options.json) return Text(plan, steps);
  if (!options.steps) return plan::ToJson(plan);
  auto json = nlohmann::ordered_json::parse(plan::ToJson(plan));
  json["steps"] = steps;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Action SetupPlan(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddRunFlags(arguments, options->flags);
  arguments.Flag("--json", options->json, "Print JSON");
  arguments.Flag("-v,--steps", options->steps, "Also every step between clone and exec");
  arguments.Footer(
      "Nothing is run, and nothing is made on the host.\n"
      "Exit status: 0, or 125 where `cordon run` would refuse.");
  arguments.Command(options->argv);
  return [options] {
    return PrintAbout(options->argv, options->form(), [&] { return Plan(*options); });
  };
}

}  // namespace cordon::cli
