// Runs in: supervisor. Pure.
#include "backend/oci/kubernetes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/strings.h"
#include "guard/ip_address.h"
#include "guard/path.h"
#include "plan/required.h"

namespace cordon::backend {
namespace {

using Json = nlohmann::ordered_json;
using plan::Region;
using plan::RegionSource;
using plan::Rights;

constexpr char kProxyName[] = "cordon-proxy";
constexpr size_t kLongestName = 50;  // 63, less what is added to it

// Whether a Secret can have it as a key.
bool IsKey(std::string_view name) {
  constexpr std::string_view kBytes =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return name.find_first_not_of(kBytes) == std::string_view::npos;
}

Status CheckCarried(const plan::Plan& plan, const KubernetesOptions& options) {
  auto refuse = [](const std::string& what) {
    return base::Unsupported("a Kubernetes Job does not carry " + what);
  };
  if (!plan.net.host_ports.empty()) return refuse("net.host_ports");
  if (!plan.net.publish.empty()) return refuse("net.publish");
  if (!plan.net.unix_sockets.empty()) return refuse("net.unix_sockets");
  if (plan.net.intercepts()) return refuse("net.tls.intercept or net.credential");
  if (plan.net.external) return refuse("net.external");
  if (!plan.devices.empty()) return refuse("fs.devices");
  if (!guard::IsInside(plan.command.directory, plan.fs.workspace)) {
    return refuse("a working directory outside of the workspace");
  }
  if (options.image.empty()) {
    return base::InvalidArgument(Reason::kUsage, "--image names the image to run in");
  }
  constexpr std::string_view kNameBytes = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const std::string& name = options.name;
  bool valid = !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
               name.back() != '-' && name.find_first_not_of(kNameBytes) == std::string::npos;
  if (!valid) {
    return base::InvalidArgument(Reason::kUsage,
                                 "--name takes lower-case letters, digits and dashes inside");
  }
  if (plan.net.proxied() && !guard::ParseIp(options.proxy)) {
    return base::InvalidArgument(Reason::kUsage,
                                 "--proxy is the address of the Service in front of `cordon proxy`",
                                 "a name would need DNS, which is a way out");
  }
  return {};
}

class Maker {
 public:
  Maker(const plan::Plan& plan, const KubernetesOptions& options)
      : plan_(plan), options_(options), proxy_(plan::ProxyVariables(plan.net)) {}

  Result<std::string> Make() {
    Volumes();
    Json items = Json::array();
    if (plan_.net.own_namespace()) items.push_back(NetworkPolicy());
    if (masked_file_) items.push_back(MaskMap());
    items.push_back(Job());
    Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
    if (!valid_) {
      return base::Unsupported("a path, argument or variable is not UTF-8, which JSON cannot say");
    }
    return list.dump(2) + "\n";
  }

 private:
  std::string Text(const std::string& bytes) {
    valid_ = valid_ && base::IsValidUtf8(bytes);
    return bytes;
  }

  Json Metadata(const std::string& name) const { return {{"name", name}, {"labels", Labels()}}; }
  Json Labels() const { return {{"app.kubernetes.io/name", options_.name}}; }

  void Volume(const std::string& name, const Json& source) {
    Json volume = {{"name", name}};
    volume.update(source);
    volumes_.push_back(std::move(volume));
  }
  void Mount(const std::string& volume, const std::string& path, Rights rights,
             const std::string& below = "") {
    Json mount = {{"name", volume}, {"mountPath", Text(path)}};
    if (!below.empty()) mount["subPath"] = Text(below);
    if (rights == Rights::kReadOnly) mount["readOnly"] = true;
    mounts_.push_back(std::move(mount));
  }

  // Inner mounts come after outer ones: the regions are sorted so.
  void Volumes() {
    const std::string& root = plan_.fs.workspace;
    if (plan_.fs.temp == TempMode::kPrivate) {
      Volume("temp", {{"emptyDir",
                       {{"medium", "Memory"}, {"sizeLimit", std::to_string(plan_.fs.temp_size)}}}});
      Mount("temp", "/tmp", Rights::kReadWrite, "tmp");
      Mount("temp", "/var/tmp", Rights::kReadWrite, "var-tmp");
    }
    if (options_.claim.empty()) {
      Volume("workspace", {{"emptyDir", Json::object()}});
    } else {
      Volume("workspace", {{"persistentVolumeClaim", {{"claimName", options_.claim}}}});
    }
    const Region* top = nullptr;
    for (const Region& region : plan_.fs.regions) {
      if (guard::IsInside(root, region.path)) top = &region;
    }
    bool writable =
        top != nullptr && top->source == RegionSource::kHost && top->rights == Rights::kReadWrite;
    Mount("workspace", root, writable ? Rights::kReadWrite : Rights::kReadOnly);
    if (options_.claim.empty()) return;  // nothing of the host's workspace is in it
    for (const Region& region : plan_.fs.regions) {
      if (region.path != root && guard::IsInside(region.path, root)) Inner(region);
    }
  }

  void Inner(const Region& region) {
    std::string below = region.path.substr(plan_.fs.workspace.size() + 1);
    if (region.source == RegionSource::kHost) {
      Mount("workspace", region.path, region.rights, below);
    } else if (region.directory) {
      if (!masked_directory_) {
        Volume("nothing", {{"emptyDir", {{"medium", "Memory"}, {"sizeLimit", "4096"}}}});
      }
      masked_directory_ = true;
      Mount("nothing", region.path, Rights::kReadOnly);
    } else {
      if (!masked_file_) {
        Volume("no-file", {{"configMap", {{"name", options_.name + "-mask"}, {"defaultMode", 0}}}});
      }
      masked_file_ = true;
      Mount("no-file", region.path, Rights::kReadOnly, "file");
    }
  }

  Json MaskMap() const {
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", Metadata(options_.name + "-mask")},
            {"data", {{"file", ""}}}};
  }

  // Nothing in, and out only to the proxy: it resolves names, so not even DNS.
  Json NetworkPolicy() const {
    Json egress = Json::array();
    if (plan_.net.proxied()) {
      Json pods = {{"podSelector", {{"matchLabels", {{"app.kubernetes.io/name", kProxyName}}}}}};
      Json port = {{"protocol", "TCP"}, {"port", plan::kProxyPort}};
      egress.push_back({{"to", Json::array({pods})}, {"ports", Json::array({port})}});
    }
    return {{"apiVersion", "networking.k8s.io/v1"},
            {"kind", "NetworkPolicy"},
            {"metadata", Metadata(options_.name)},
            {"spec",
             {{"podSelector", {{"matchLabels", Labels()}}},
              {"policyTypes", Json::array({"Ingress", "Egress"})},
              {"ingress", Json::array()},
              {"egress", egress}}}};
  }

  // A variable that is passed on comes from a Secret of the cluster's.
  Json Environment() {
    Json list = Json::array();
    for (const std::string& entry : plan_.environment) {
      size_t equals = entry.find('=');
      std::string name = Text(entry.substr(0, equals)), value = entry.substr(equals + 1);
      bool chosen =
          std::ranges::find(plan_.chosen_environment, name) != plan_.chosen_environment.end();
      if (chosen) {
        list.push_back({{"name", name}, {"value", Text(ForCluster(name, std::move(value)))}});
      } else if (name == "HOME") {  // of the host; an image's may not be writable
        if (plan_.fs.temp == TempMode::kPrivate)
          list.push_back({{"name", name}, {"value", "/tmp"}});
      } else if (name != "PATH" && IsKey(name)) {  // PATH is the image's
        Json key = {{"name", options_.name + "-env"}, {"key", name}, {"optional", true}};
        list.push_back({{"name", name}, {"valueFrom", {{"secretKeyRef", key}}}});
      }
    }
    return list;
  }

  // The proxy is a service of the cluster's, not of the pod's loopback.
  std::string ForCluster(const std::string& name, std::string value) const {
    auto known = proxy_.find(name);
    bool ours = known != proxy_.end() && known->second == value;
    if (!ours || name == "NO_PROXY" || name == "no_proxy") return value;
    constexpr std::string_view kLocal = "127.0.0.1";
    for (size_t at = value.find(kLocal); at != std::string::npos; at = value.find(kLocal)) {
      value.replace(at, kLocal.size(), kProxyName);
    }
    return value;
  }

  Json Resources() const {
    Json limits = Json::object();
    if (plan_.limits.memory) limits["memory"] = std::to_string(*plan_.limits.memory);
    return limits.empty() ? Json::object() : Json{{"limits", limits}};
  }

  Json Container() {
    Json args = Json::array();
    for (const std::string& word : plan_.command.argv) args.push_back(Text(word));
    return {{"name", "command"},
            {"image", options_.image},
            {"command", args},
            {"workingDir", Text(plan_.command.directory)},
            {"env", Environment()},
            {"resources", Resources()},
            {"securityContext",
             {{"allowPrivilegeEscalation", false},
              {"readOnlyRootFilesystem", true},
              {"capabilities", {{"drop", Json::array({"ALL"})}}}}},
            {"volumeMounts", mounts_}};
  }

  Json Pod() {
    Json pod = BarePod();
    if (plan_.net.proxied()) {
      Json alias = {{"ip", options_.proxy}, {"hostnames", Json::array({kProxyName})}};
      pod["hostAliases"] = Json::array({alias});
      pod["dnsPolicy"] = "None";
      pod["dnsConfig"] = {{"nameservers", Json::array({"127.0.0.1"})}};
    }
    return pod;
  }

  Json BarePod() {
    return {{"restartPolicy", "Never"},
            {"automountServiceAccountToken", false},
            {"enableServiceLinks", false},
            {"hostNetwork", false},
            {"hostPID", false},
            {"hostIPC", false},
            {"securityContext",
             {{"runAsNonRoot", true},
              {"runAsUser", options_.uid},
              {"runAsGroup", options_.gid},
              {"fsGroup", options_.gid},
              {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
            {"containers", Json::array({Container()})},
            {"volumes", volumes_}};
  }

  Json Job() {
    Json spec = {{"backoffLimit", 0}};
    if (plan_.limits.wall_ms) {
      spec["activeDeadlineSeconds"] = std::max<uint64_t>(1, (*plan_.limits.wall_ms + 999) / 1000);
    }
    spec["template"] = {{"metadata", {{"labels", Labels()}}}, {"spec", Pod()}};
    return {{"apiVersion", "batch/v1"},
            {"kind", "Job"},
            {"metadata", Metadata(options_.name)},
            {"spec", spec}};
  }

  const plan::Plan& plan_;
  const KubernetesOptions& options_;
  std::map<std::string, std::string> proxy_;
  Json volumes_ = Json::array();
  Json mounts_ = Json::array();
  bool masked_directory_ = false;
  bool masked_file_ = false;
  bool valid_ = true;
};

std::vector<Enforcement> Enforced(const plan::Plan& plan) {
  bool net = plan.net.own_namespace();
  bool deny_new = std::ranges::any_of(plan.fs.names, [](const plan::ProtectedName& name) {
    return name.kind == plan::RuleKind::kDenyNew;
  });
  std::vector<Enforcement> list = {
      {"fs.read", "image, volumes", Level::kFull, ""},
      {"fs.write", "read-only root, volumes", Level::kFull, ""},
      {"fs.floor", "volumes", Level::kPartial, "protected names that do not exist yet can be made"},
      {"net", net ? "NetworkPolicy" : "", net ? Level::kPartial : Level::kNone,
       net ? "if the cluster's network enforces it" : "net.mode is \"open\""},
      {"unix", "image", Level::kFull, ""},
      {"ipc", "pod", Level::kFull, ""},
      {"pid", "pod", Level::kFull, ""},
      {"seccomp", "seccomp", Level::kPartial, "the engine's default profile"},
      {"env", "clean environment", Level::kFull, ""},
      {"tty", "no terminal", Level::kFull, ""},
  };
  if (deny_new) {
    list.push_back({"fs.deny_new", "", Level::kNone, "no volume keeps a name from being made"});
  }
  const LimitPolicy& limits = plan.limits;
  list.push_back(
      plan::OfLimit("limits.cpu", limits.cpu_ms, "", Level::kNone, "a pod has a share, no total"));
  list.push_back(plan::OfLimit("limits.memory", limits.memory, "cgroup", Level::kFull, ""));
  list.push_back(plan::OfLimit("limits.processes", limits.processes, "", Level::kNone,
                               "it is the node's word"));
  list.push_back(plan::OfLimit("limits.files", limits.open_files, "", Level::kNone,
                               "a pod has no such limit"));
  list.push_back(plan::OfLimit("limits.file_size", limits.file_size, "", Level::kNone,
                               "a pod has no such limit"));
  list.push_back({"limits.disk", "", Level::kNone, "no limit set"});
  return list;
}

}  // namespace

Result<KubernetesObjects> MakeKubernetes(const plan::Plan& plan, const KubernetesOptions& options) {
  CORDON_TRY(CheckCarried(plan, options));
  KubernetesObjects objects;
  CORDON_ASSIGN_OR_RETURN(objects.json, Maker(plan, options).Make());
  objects.enforcement = Enforced(plan);
  return objects;
}

}  // namespace cordon::backend
