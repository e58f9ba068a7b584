// Runs in: supervisor. Pure.
#include "backend/oci/seccomp.h"

#include <errno.h>
#include <linux/sched.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "backend/linux/denied_calls.h"

namespace cordon::backend {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLowHalf = 0xffffffff;

class Rules {
 public:
  void Refuse(Json names, int error, Json arguments = Json::array()) {
    Json rule = {{"names", std::move(names)}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", error}};
    if (!arguments.empty()) rule["args"] = std::move(arguments);
    list_.push_back(std::move(rule));
  }
  Json Take() { return std::move(list_); }

 private:
  Json list_ = Json::array();
};

Json Argument(int index, const char* op, uint64_t value) {
  return {{"index", index}, {"op", op}, {"value", value}};
}
// Whether the bits of `mask` have `value`.
Json Bits(int index, uint64_t mask, uint64_t value) {
  return {{"index", index}, {"op", "SCMP_CMP_MASKED_EQ"}, {"value", mask}, {"valueTwo", value}};
}

// One rule for each flag: there is no "any of these bits".
void RefuseNamespaces(Rules& rules) {
  for (uint64_t flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                        CLONE_NEWPID, CLONE_NEWNET}) {
    rules.Refuse(Json::array({"clone", "unshare"}), EPERM, Json::array({Bits(0, flag, flag)}));
  }
  rules.Refuse(Json::array({"unshare"}), EPERM, Json::array({Bits(0, 0x80 /* TIME */, 0x80)}));
  rules.Refuse(Json::array({"chroot"}), EPERM);
}

// Internet (streams and datagrams) and route netlink.
void RefuseSockets(Rules& rules) {
  constexpr uint64_t kLastNamed = AF_NETLINK;
  for (uint64_t family = 0; family < kLastNamed; ++family) {
    if (family == AF_INET || family == AF_INET6) continue;
    rules.Refuse(Json::array({"socket"}), EAFNOSUPPORT, Json::array({Bits(0, kLowHalf, family)}));
  }
  rules.Refuse(Json::array({"socket"}), EAFNOSUPPORT,
               Json::array({Argument(0, "SCMP_CMP_GT", kLastNamed)}));
  for (uint64_t family : {AF_INET, AF_INET6}) {
    for (uint64_t type : {SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET}) {
      rules.Refuse(Json::array({"socket"}), EAFNOSUPPORT,
                   Json::array({Bits(0, kLowHalf, family), Bits(1, 0xf, type)}));
    }
  }
  rules.Refuse(Json::array({"socket"}), EAFNOSUPPORT,
               {Bits(0, kLowHalf, AF_NETLINK), Argument(2, "SCMP_CMP_NE", 0)});
}

void RefuseTricks(Rules& rules) {
  constexpr uint64_t kAttach = 16, kSeize = 0x4206;
  for (uint64_t request : {kAttach, kSeize}) {
    rules.Refuse(Json::array({"ptrace"}), EPERM,
                 Json::array({Argument(0, "SCMP_CMP_EQ", request)}));
  }
  rules.Refuse(Json::array({"prlimit64"}), EPERM,
               {Argument(0, "SCMP_CMP_NE", 0), Argument(2, "SCMP_CMP_NE", 0)});
  constexpr uint64_t kTiocsti = 0x5412, kTioclinux = 0x541C, kTioccons = 0x541D;
  for (uint64_t request : {kTiocsti, kTioclinux, kTioccons}) {
    rules.Refuse(Json::array({"ioctl"}), EPERM, Json::array({Bits(1, kLowHalf, request)}));
  }
  for (uint64_t bit : {04000, 02000}) {
    rules.Refuse(Json::array({"chmod", "fchmod"}), EPERM, Json::array({Bits(1, bit, bit)}));
    rules.Refuse(Json::array({"fchmodat", "fchmodat2"}), EPERM, Json::array({Bits(2, bit, bit)}));
  }
}

}  // namespace

Json OciSeccomp(const plan::Plan& plan) {
  Rules rules;
  rules.Refuse(kDeniedCalls, EPERM);
  rules.Refuse(kMissingCalls, ENOSYS);
  RefuseTricks(rules);
  RefuseSockets(rules);
  if (!plan.nesting) RefuseNamespaces(rules);
  return {{"defaultAction", "SCMP_ACT_ALLOW"},
          {"architectures",
#if defined(__aarch64__)
           Json::array({"SCMP_ARCH_AARCH64"})
#else
           Json::array({"SCMP_ARCH_X86_64"})
#endif
          },
          {"syscalls", rules.Take()}};
}

}  // namespace cordon::backend
