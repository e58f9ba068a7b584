// cordon export seatbelt · oci DIR · k8s, each [POLICY] -- CMD ARG…
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "backend/macos/seatbelt_profile.h"
#include "backend/oci/kubernetes.h"
#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/export_environment.h"
#include "cli/export_oci.h"
#include "cli/export_seatbelt.h"
#include "cli/output.h"
#include "cli/run_request.h"
#include "guard/path.h"
#include "host/real_paths.h"

namespace cordon::cli {
namespace {

struct Options {
  RunFlags flags;
  std::string directory;  // of the bundle
  backend::KubernetesOptions kubernetes;
  bool json = false;
  std::vector<std::string> argv;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

using Exporter = Result<std::string> (*)(const Options&);

// What nothing outside of `cordon run` keeps an eye on.
void AddWatched(const Policy& policy, std::vector<Enforcement>& enforcement) {
  if (policy.limits.wall_ms) {
    enforcement.push_back({"limits.wall", "", Level::kNone, "only `cordon run` keeps the time"});
  }
  if (policy.limits.output) {
    enforcement.push_back({"limits.output", "", Level::kNone, "only `cordon run` cuts output"});
  }
}

Result<std::string> Seatbelt(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(session::Request request, ReadRequest(options.flags, options.argv));
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(request));
  CORDON_ASSIGN_OR_RETURN(backend::SeatbeltProfile profile,
                          backend::MakeSeatbeltProfile(plan, {.temp = kTempPlaceholder}));
  AddWatched(request.policy, profile.enforcement);
  CORDON_TRY(CheckCarried(request.policy, profile.enforcement));
  return options.json ? SeatbeltJson(plan, profile) : SeatbeltScript(plan, profile);
}

// Whom the command will be, where the engine is started by who we are.
Result<backend::OciOptions> OciOptionsFor(const Options& options) {
  backend::OciOptions made{.uid = geteuid(), .gid = getegid()};
  if (geteuid() == 0) {
    CORDON_ASSIGN_OR_RETURN(session::Unprivileged user, TargetUser(options.flags));
    made.uid = user.uid;
    made.gid = user.gid;
    made.started_by = backend::OciOptions::StartedBy::kRoot;
  }
  char* here = get_current_dir_name();
  if (here == nullptr) return base::SystemError("getcwd", errno);
  made.bundle = guard::NormalizePath(guard::JoinPath(here, options.directory));
  free(here);
  return made;
}

Result<std::string> Oci(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(session::Request request, ReadRequest(options.flags, options.argv));
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(request));
  CORDON_ASSIGN_OR_RETURN(backend::OciOptions oci, OciOptionsFor(options));
  host::RealPaths probe;
  CORDON_ASSIGN_OR_RETURN(backend::OciBundle bundle, backend::MakeOciBundle(plan, probe, oci));
  AddWatched(request.policy, bundle.enforcement);
  CORDON_TRY(CheckCarried(request.policy, bundle.enforcement));
  CORDON_TRY(WriteBundle(oci.bundle, bundle));
  if (options.json) {
    nlohmann::ordered_json json = {{"target", "oci"}, {"bundle", oci.bundle}};
    json["enforcement"] = EnforcementJson(bundle.enforcement);
    json["left_out"] = bundle.variables_left_out;
    return json.dump(2) + "\n";
  }
  std::string text = fmt::format("{}: written; `crun run --bundle {} NAME` runs it\n",
                                 base::Printable(oci.bundle), base::Printable(oci.bundle));
  for (const std::string& name : bundle.variables_left_out) {
    text += fmt::format("  {} is not in it: its value may be a secret\n", base::Printable(name));
  }
  return text;
}

Result<std::string> Kubernetes(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(session::Request request, ReadRequest(options.flags, options.argv));
  request.policy.fs.caches = CacheMode::kNone;  // this host's are not there
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, session::Prepare(request));
  backend::KubernetesOptions kubernetes = options.kubernetes;
  CORDON_ASSIGN_OR_RETURN(session::Unprivileged user, TargetUser(options.flags));
  bool root = geteuid() == 0;
  kubernetes.uid = root ? user.uid : geteuid();
  kubernetes.gid = root ? user.gid : getegid();
  CORDON_ASSIGN_OR_RETURN(backend::KubernetesObjects objects,
                          backend::MakeKubernetes(plan, kubernetes));
  CORDON_TRY(CheckCarried(request.policy, objects.enforcement));
  return std::move(objects.json);
}

int Run(const Options& options, Exporter exporter) {
  Result<std::string> text = exporter(options);
  if (!text) {
    PrintError(text.error(), options.form());
    return kExitRefused;
  }
  Print(*text);
  return kExitOk;
}

}  // namespace

Action SetupExport(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto chosen = std::make_shared<Action>();
  app.require_subcommand(1);
  app.prefix_command();
  auto add = [&](const char* name, const char* doc, Exporter exporter) {
    CLI::App* verb = app.add_subcommand(name, doc);
    AddRunFlags(*verb, options->flags);
    verb->add_flag("--json", options->json, "Print JSON");
    verb->prefix_command();
    verb->callback([options, chosen, verb, exporter, &app] {
      *chosen = [options, verb, exporter, &app] {
        // CLI11 ends a verb at "--" and leaves the rest to its parent.
        bool ended = verb->remaining().empty();
        Result<std::vector<std::string>> words = CommandWords(ended ? app : *verb);
        if (!words) {
          PrintError(words.error(), options->form());
          return kExitRefused;
        }
        options->argv = std::move(*words);
        return Run(*options, exporter);
      };
    });
    return verb;
  };
  add("seatbelt", "A script for macOS, with its Seatbelt profile", Seatbelt);
  add("oci", "A bundle for crun, runc and their like", Oci)
      ->add_option("DIR", options->directory, "Where to write it; may not exist yet")
      ->required();
  CLI::App* k8s = add("k8s", "A Kubernetes Job with its NetworkPolicy", Kubernetes);
  k8s->add_option("--image", options->kubernetes.image, "The image to run in")
      ->type_name("IMAGE")
      ->required();
  k8s->add_option("--claim", options->kubernetes.claim,
                  "The PersistentVolumeClaim that holds the workspace (default: an empty one)")
      ->type_name("NAME");
  k8s->add_option("--proxy", options->kubernetes.proxy,
                  "The address of a Service in front of `cordon proxy`, for egress by name")
      ->type_name("IP");
  k8s->add_option("--name", options->kubernetes.name, "Of the Job (default: cordon)")
      ->type_name("NAME");
  app.footer(
      "Nothing is run. What the target cannot enforce is refused.\n"
      "Exit status: 0, or 125 where it is refused.");
  return [chosen] { return (*chosen)(); };
}

}  // namespace cordon::cli
