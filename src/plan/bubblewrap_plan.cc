#include "plan/bubblewrap_plan.h"

#include <algorithm>

#include "base/error.h"

namespace cordon::plan {
namespace {

constexpr int kFirstUnprivilegedPort = 1024;

Enforcement* Find(std::vector<Enforcement>& list, std::string_view feature) {
  auto found = std::ranges::find(list, feature, &Enforcement::feature);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

Status CheckBubblewrap(const PlanInputs& in) {
  auto refuse = [](const std::string& key, const char* why) {
    return base::Unsupported(key + " cannot be had by the bubblewrap backend: " + why,
                             "leave the key out, or use a host where user namespaces can be made");
  };
  const Policy& policy = in.policy;
  if (policy.exec.nesting) {
    return refuse("exec.nesting", "user namespaces are denied to all but bubblewrap itself");
  }
  if (policy.net.mode != NetMode::kOpen) {
    for (int port : policy.net.host_ports) {
      if (port >= kFirstUnprivilegedPort) continue;
      return refuse("net.host_ports: " + std::to_string(port),
                    "nothing inside has the right to listen below 1024");
    }
  }
  if (in.bubblewrap.setuid && !policy.net.publish.empty()) {
    return refuse("net.publish", "a setuid bubblewrap lets nobody else into its network");
  }
  if (!in.bubblewrap.proc && policy.on_unavailable != OnUnavailable::kWarn) {
    host::Cause cause = host::BubblewrapCause("mount proc");
    return Error{.code = Code::kUnsupported,
                 .reason = Reason::kRequirementUnmet,
                 .message = "bubblewrap cannot mount a /proc here",
                 .hint = cause.remedy};
  }
  return {};
}

void LeaveToBubblewrap(Plan& plan) {
  plan.net.routed = false;
  plan.net.ports.clear();
}

void EnforceByBubblewrap(const Plan& plan, std::vector<Enforcement>& list) {
  if (Enforcement* pid = Find(list, "pid"); pid != nullptr && !plan.bubblewrap.proc) {
    pid->level = Level::kPartial;
    pid->note = "there is no /proc inside";
  }
  if (Enforcement* disk = Find(list, "limits.disk"); disk != nullptr && !disk->mechanism.empty()) {
    disk->note += plan.bubblewrap.setuid
                      ? "; a setuid bubblewrap sets no size: what is used is watched"
                      : "; fs.temp_size holds for each of /tmp, /var/tmp and /dev/shm";
  }
}

}  // namespace cordon::plan
