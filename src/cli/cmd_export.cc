// cordon export seatbelt · oci DIR · k8s, each [POLICY] -- CMD ARG…
#include <fmt/core.h>
#include <unistd.h>

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

struct Asked {
  Policy policy;
  plan::Plan plan;
};

// What must be enforced is asked of the target, not of this host.
Result<Asked> PlanFor(const Options& options, CacheMode widest_caches) {
  CORDON_ASSIGN_OR_RETURN(session::Request request, ReadRequest(options.flags, options.argv));
  Asked asked{.policy = request.policy};
  request.policy.require.clear();
  request.policy.on_unavailable = OnUnavailable::kWarn;
  if (request.policy.trust == Trust::kRequire) request.policy.trust = Trust::kAuto;
  request.policy.fs.caches = std::min(request.policy.fs.caches, widest_caches);
  CORDON_ASSIGN_OR_RETURN(asked.plan, session::Prepare(request));
  return asked;
}

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
  CORDON_ASSIGN_OR_RETURN(Asked asked, PlanFor(options, CacheMode::kHost));
  CORDON_ASSIGN_OR_RETURN(backend::SeatbeltProfile profile,
                          backend::MakeSeatbeltProfile(asked.plan, {.temp = kTempPlaceholder}));
  AddWatched(asked.policy, profile.enforcement);
  CORDON_TRY(CheckCarried(asked.policy, profile.enforcement));
  return options.json ? SeatbeltJson(asked.plan, profile) : SeatbeltScript(asked.plan, profile);
}

// On stderr: stdout is for the engine.
void TellNotInFull(const std::vector<Enforcement>& enforcement) {
  std::vector<std::string> lines = NotInFull(enforcement);
  if (!lines.empty()) Tell("cordon: not in full there:\n");
  for (const std::string& line : lines) Tell("  " + line + "\n");
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
  CORDON_ASSIGN_OR_RETURN(Asked asked, PlanFor(options, CacheMode::kHost));
  CORDON_ASSIGN_OR_RETURN(backend::OciOptions oci, OciOptionsFor(options));
  host::RealPaths probe;
  CORDON_ASSIGN_OR_RETURN(backend::OciBundle bundle,
                          backend::MakeOciBundle(asked.plan, probe, oci));
  AddWatched(asked.policy, bundle.enforcement);
  CORDON_TRY(CheckCarried(asked.policy, bundle.enforcement));
  CORDON_TRY(WriteBundle(oci.bundle, bundle));
  if (options.json) {
    nlohmann::ordered_json json = {{"target", "oci"}, {"bundle", oci.bundle}};
    json["enforcement"] = EnforcementJson(bundle.enforcement);
    json["left_out"] = bundle.variables_left_out;
    return json.dump(2) + "\n";
  }
  TellNotInFull(bundle.enforcement);
  std::string text = fmt::format("{}: written; `crun run --bundle {} NAME` runs it\n",
                                 base::Printable(oci.bundle), base::Printable(oci.bundle));
  for (const std::string& name : bundle.variables_left_out) {
    text += fmt::format("  {} is not in it: its value may be a secret\n", base::Printable(name));
  }
  return text;
}

Result<std::string> Kubernetes(const Options& options) {
  // This host's caches are not there.
  CORDON_ASSIGN_OR_RETURN(Asked asked, PlanFor(options, CacheMode::kNone));
  backend::KubernetesOptions kubernetes = options.kubernetes;
  CORDON_ASSIGN_OR_RETURN(session::Unprivileged user, TargetUser(options.flags));
  bool root = geteuid() == 0;
  kubernetes.uid = root ? user.uid : geteuid();
  kubernetes.gid = root ? user.gid : getegid();
  CORDON_ASSIGN_OR_RETURN(backend::KubernetesObjects objects,
                          backend::MakeKubernetes(asked.plan, kubernetes));
  CORDON_TRY(CheckCarried(asked.policy, objects.enforcement));
  TellNotInFull(objects.enforcement);
  return std::move(objects.json);
}

}  // namespace

Action SetupExport(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  auto add = [&](const char* name, const char* doc, Exporter exporter) -> Arguments& {
    Arguments& verb = arguments.Verb(name, doc, [options, exporter] {
      return PrintAbout(options->argv, options->form(), [&] { return exporter(*options); });
    });
    AddRunFlags(verb, options->flags);
    verb.Flag("--json", options->json, "Print JSON");
    verb.Command(options->argv);
    return verb;
  };
  add("seatbelt", "A script for macOS, with its Seatbelt profile", Seatbelt);
  add("oci", "A bundle for crun, runc and their like", Oci)
      .Required("DIR", options->directory, "Where to write it; may not exist yet");
  Arguments& k8s = add("k8s", "A Kubernetes Job with its NetworkPolicy", Kubernetes);
  backend::KubernetesOptions& cluster = options->kubernetes;
  k8s.Option("--image", cluster.image, "IMAGE", "The image to run in");
  k8s.Option("--claim", cluster.claim, "NAME",
             "The PersistentVolumeClaim that holds the workspace (default: an empty one)");
  k8s.Option("--proxy", cluster.proxy, "IP",
             "The address of a Service in front of `cordon proxy`, for egress by name");
  k8s.Option("--name", cluster.name, "NAME", "Of the Job (default: cordon)");
  arguments.Footer(
      "Nothing is run. What the target cannot enforce is refused.\n"
      "Exit status: 0, or 125 where it is refused.");
  return [&arguments] { return arguments.chosen()(); };
}

}  // namespace cordon::cli
