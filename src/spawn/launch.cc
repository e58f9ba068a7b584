// Runs in: supervisor.
#include "spawn/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/init_protocol.h"
#include "backend/test_hooks.h"
#include "base/error.h"
#include "spawn/child.h"
#include "spawn/init_image.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

using backend::ChildSpec;
using backend::Op;
using backend::Report;
using backend::ReportKind;

struct Pair {
  sys::UniqueFd first;
  sys::UniqueFd second;
};

Result<Pair> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return base::SystemError("pipe2", errno, Reason::kSetupFailed);
  return Pair{sys::UniqueFd(fds[0]), sys::UniqueFd(fds[1])};
}

Result<Pair> MakeSocketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return base::SystemError("socketpair", errno, Reason::kSetupFailed);
  }
  return Pair{sys::UniqueFd(fds[0]), sys::UniqueFd(fds[1])};
}

sys::UniqueFd ReceiveFd(int socket) {
  char byte;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t received;
  do {
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  cmsghdr* header = received > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  return sys::UniqueFd(*reinterpret_cast<int*>(CMSG_DATA(header)));
}

std::vector<const char*> Pointers(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

// A directory among the streams would be a way out: a descriptor of the host's
// tree, through the host's own mounts.
Status CheckStreams(const Streams& streams) {
  for (int stream : {streams.in, streams.out, streams.err}) {
    struct stat status;
    int flags = fcntl(stream, F_GETFL);
    if (flags < 0 || fstat(stream, &status) != 0) continue;  // closed: the child tells
    if (S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode) || (flags & O_PATH) != 0) {
      return base::InvalidArgument(Reason::kCommandInvalid,
                                   "a standard stream is a directory or a block device");
    }
  }
  return {};
}

Error SetupError(const ChildSpec& spec, const Report& report) {
  return base::SystemError("setting up the sandbox: " + backend::DescribeStep(spec, report.detail),
                           report.value, Reason::kSetupFailed);
}

}  // namespace

Result<sys::UniqueFd> InitProgram() {
  sys::UniqueFd fd(memfd_create("cordon-init", MFD_CLOEXEC | MFD_ALLOW_SEALING | uapi::kMfdExec));
  if (!fd.valid() && errno == EINVAL) {  // MFD_EXEC came with Linux 6.3
    fd.reset(memfd_create("cordon-init", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!fd.valid()) return base::SystemError("memfd_create", errno, Reason::kSetupFailed);
  ssize_t size = cordon_init_image_end - cordon_init_image;
  if (write(fd.get(), cordon_init_image, static_cast<size_t>(size)) != size ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return base::SystemError("write of the init program", errno, Reason::kSetupFailed);
  }
  return fd;
}

Result<Launched> Launch(Clone& clone, const ChildSpec& spec, const Streams& streams,
                        std::span<const int> cgroups) {
  CORDON_TRY(CheckStreams(streams));
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd init, InitProgram());
  CORDON_ASSIGN_OR_RETURN(Pair control, MakePipe());
  CORDON_ASSIGN_OR_RETURN(Pair status, MakePipe());
  CORDON_ASSIGN_OR_RETURN(Pair listener, MakeSocketPair());
  std::vector<std::string> words = {"cordon-init", "-" + spec.init_options, spec.program};
  words.insert(words.end(), spec.argv.begin(), spec.argv.end());
  std::vector<const char*> argv = Pointers(words);
  std::vector<const char*> environment = Pointers(spec.environment);
  ChildInput input{&spec,
                   {{streams.in, streams.out, streams.err},
                    control.first.get(),
                    status.second.get(),
                    listener.second.get(),
                    init.get()},
                   cgroups,
                   argv.data(),
                   environment.data(),
                   backend::TestHookOff("descriptors") ? ~0u : unsigned{kFirstFreeFd}};
  CORDON_ASSIGN_OR_RETURN(Clone::Made made, clone.Run(input));
  Launched launched;
  launched.pid = made.pid;
  launched.pidfd = std::move(made.pidfd);
  launched.control = std::move(control.second);
  launched.status = std::move(status.first);
  control.first.reset();
  status.second.reset();
  listener.second.reset();
  bool complete = true;
  auto receive = [&](sys::UniqueFd& fd) {
    if (complete) fd = ReceiveFd(listener.first.get());
    complete = complete && fd.valid();
  };
  // In the order of the steps that send them.
  for (const backend::Step& step : spec.steps) {
    if (step.op == Op::kTerminal) receive(launched.terminal);
    if (step.op == Op::kListen) receive(launched.sockets.emplace_back());
    if (step.op == Op::kSeccomp) receive(launched.listener);
    if (step.op == Op::kSeccomp) receive(launched.root);
  }
  if (complete) return launched;
  // The child ended before it got that far: its report says where.
  Report report{};
  pollfd told{launched.status.get(), POLLIN, 0};
  ssize_t got = poll(&told, 1, 1000) > 0 ? read(launched.status.get(), &report, sizeof(report)) : 0;
  syscall(SYS_pidfd_send_signal, launched.pidfd.get(), SIGKILL, nullptr, 0);
  waitpid(launched.pid, nullptr, 0);
  if (got == ssize_t{sizeof(report)} && report.kind == ReportKind::kSetupFailed) {
    return SetupError(spec, report);
  }
  return base::SystemError("setting up the sandbox", ECHILD, Reason::kSetupFailed);
}

}  // namespace cordon::spawn
