// cordon doctor [--json]
#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "host/backend.h"
#include "host/doctor.h"

namespace cordon::cli {
namespace {

using host::Finding;
using host::Need;

struct Options {
  bool json = false;
};

struct Report {
  std::string kernel;
  std::vector<Finding> findings;
  std::vector<host::BackendState> backends;
  host::Backend chosen = host::Backend::kNone;
  std::vector<Enforcement> features;
  bool full = false;
};

Report MakeReport() {
  Report report;
  utsname name;
  if (uname(&name) == 0) report.kernel = std::string(name.sysname) + " " + name.release;
  report.findings = host::Examine();
  report.backends = host::Backends(report.findings);
  report.chosen = host::Choose(report.backends);
  report.features = host::Enforceable(report.findings);
  report.full = host::DefaultIsFull(report.features);
  return report;
}

std::string Mark(const Finding& finding) {
  if (finding.available) return Coloured("yes", Colour::kGreen);
  return finding.need == Need::kRequired ? Coloured("NO ", Colour::kRed) : "no ";
}

std::string Text(const Report& report) {
  std::string text = fmt::format("{}, uid {}\n\n", base::Printable(report.kernel), geteuid());
  for (const Finding& finding : report.findings) {
    text += fmt::format("  {}  {:<31} {}\n", Mark(finding), finding.feature,
                        base::Printable(finding.detail));
    if (!finding.remedy.empty()) text += fmt::format("       → {}\n", finding.remedy);
  }
  text += "\nbackends, the best first; a run takes the first that can be had\n";
  for (const host::BackendState& state : report.backends) {
    const char* mark = state.backend == report.chosen && state.available ? "→" : " ";
    text += fmt::format("{} {}  {:<31} {}\n", mark, state.available ? "yes" : "no ",
                        host::BackendName(state.backend), base::Printable(state.detail));
  }
  text += "\nwhat a run can enforce\n";
  for (const Enforcement& item : report.features) {
    std::string level = fmt::format("{:<8}", LevelName(item.level));
    if (item.level == Level::kFull) level = Coloured(level, Colour::kGreen);
    if (item.level == Level::kNone) level = Coloured(level, Colour::kRed);
    text += fmt::format("  {:<17} {} {}{}{}\n", item.feature, level, item.mechanism,
                        item.note.empty() || item.mechanism.empty() ? "" : ": ", item.note);
  }
  text += report.full ? "\nThe default preset is enforced in full here.\n"
                      : "\nThe default preset is not enforced in full here.\n";
  return text;
}

std::string Json(const Report& report) {
  nlohmann::ordered_json json = {{"full", report.full},
                                 {"kernel", base::Printable(report.kernel)},
                                 {"uid", geteuid()},
                                 {"mechanisms", nlohmann::ordered_json::array()},
                                 {"features", nlohmann::ordered_json::object()}};
  for (const Finding& finding : report.findings) {
    json["mechanisms"].push_back({{"name", finding.feature},
                                  {"available", finding.available},
                                  {"required", finding.need == Need::kRequired},
                                  {"detail", base::Printable(finding.detail)},
                                  {"remedy", finding.remedy}});
  }
  json["backend"] = host::BackendName(report.chosen);
  for (const host::BackendState& state : report.backends) {
    json["backends"][std::string(host::BackendName(state.backend))] = {
        {"available", state.available}, {"detail", base::Printable(state.detail)}};
  }
  for (const Enforcement& item : report.features) {
    json["features"][item.feature] = {
        {"level", LevelName(item.level)}, {"mechanism", item.mechanism}, {"note", item.note}};
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int Run(const Options& options) {
  Report report = MakeReport();
  Print(options.json ? Json(report) : Text(report));
  return report.full ? kExitOk : kExitNegative;
}

}  // namespace

Action SetupDoctor(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.Flag("--json", options->json, "Print JSON");
  arguments.Footer(
      "Each mechanism is tried, in a process that ends afterwards; started by root, as the\n"
      "unprivileged user that a run would have.\n"
      "Exit status: 0 the default preset is enforced in full here, 1 it is not.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
