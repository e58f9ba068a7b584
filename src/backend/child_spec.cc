// Runs in: supervisor.
#include "backend/child_spec.h"

#include "base/strings.h"

namespace cordon::backend {
namespace {

std::string_view Name(Op op) {
  switch (op) {
    case Op::kWriteFile:
      return "write";
    case Op::kJoinSession:
      return "new session and keyring";
    case Op::kOpenTree:
      return "open tree";
    case Op::kCloneSlot:
      return "clone private";
    case Op::kTmpfs:
      return "new tmpfs";
    case Op::kProc:
      return "new proc";
    case Op::kSysfs:
      return "new sysfs";
    case Op::kDevpts:
      return "new devpts";
    case Op::kAttributes:
      return "mount attributes";
    case Op::kMakeDir:
      return "make private directory";
    case Op::kMakeFile:
      return "make private file";
    case Op::kMakeLink:
      return "make private link";
    case Op::kSealRoot:
      return "seal the root";
    case Op::kEnterRoot:
      return "enter the new root";
    case Op::kAttach:
      return "mount on";
    case Op::kStash:
      return "stash on";
    case Op::kTerminal:
      return "new terminal";
    case Op::kLoopback:
      return "loopback up";
    case Op::kNetlink:
      return "addresses and routes";
    case Op::kListen:
      return "listen on port";
    case Op::kLimit:
      return "limit";
    case Op::kUmask:
      return "umask";
    case Op::kChdir:
      return "enter directory";
    case Op::kCheckMount:
      return "check the mount";
    case Op::kForbidUserNamespaces:
      return "forbid user namespaces";
    case Op::kDropCapabilities:
      return "drop capabilities";
    case Op::kLandlock:
      return "landlock";
    case Op::kSeccomp:
      return "seccomp";
    case Op::kFilter:
      return "filter";
    case Op::kExecInit:
      return "start init";
    case Op::kExecBubblewrap:
      return "start bubblewrap";
  }
  return "";
}

}  // namespace

std::string Describe(const Step& step) {
  std::string text(Name(step.op));
  if (!step.path.empty()) text += " " + base::Printable(step.path);
  if (step.op == Op::kLimit) {
    text += " " + std::to_string(step.value) + " to " + std::to_string(step.value2);
  }
  if (step.op == Op::kListen) text += " " + std::to_string(step.value);
  return text;
}

std::string DescribeStep(const ChildSpec& spec, uint64_t index) {
  return index < spec.steps.size() ? Describe(spec.steps[index])
                                   : "place descriptors, join the cgroup";
}

}  // namespace cordon::backend
