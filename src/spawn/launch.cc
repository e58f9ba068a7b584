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
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/init_protocol.h"
#include "backend/test_hooks.h"
#include "base/error.h"
#include "base/strings.h"
#include "spawn/child.h"
#include "spawn/flat.h"
#include "spawn/init_image.h"
#include "spawn/stage.h"
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

// A descriptor, and who sent it where the socket was told to say so.
struct Received {
  sys::UniqueFd fd;
  pid_t sender = -1;
};

Received ReceiveFd(int socket) {
  char byte;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  Received received;
  if (got <= 0) return received;
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr;
       item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_type == SCM_RIGHTS) {
      received.fd.reset(*reinterpret_cast<int*>(CMSG_DATA(item)));
    } else if (item->cmsg_type == SCM_CREDENTIALS) {
      received.sender = reinterpret_cast<ucred*>(CMSG_DATA(item))->pid;
    }
  }
  return received;
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

Result<sys::UniqueFd> Sealed(const char* name, std::string_view bytes, unsigned flags) {
  sys::UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  if (!fd.valid() && errno == EINVAL) {  // MFD_EXEC came with Linux 6.3
    fd.reset(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!fd.valid()) return base::SystemError("memfd_create", errno, Reason::kSetupFailed);
  bool written = write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  if (!written || lseek(fd.get(), 0, SEEK_SET) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return base::SystemError(std::string("write of ") + name, errno, Reason::kSetupFailed);
  }
  return fd;
}

// The way there by bubblewrap: what it is started with, and what it says.
struct Wrapping {
  sys::UniqueFd null, spec, arguments, said;
  sys::UniqueFd says;  // the other end, until it is started
  std::vector<std::string> words;
  std::vector<const char*> argv, environment;
  std::vector<backend::Step> start;
  std::vector<backend::FlatStep> steps;
  backend::FlatSpec flat{};
};

Status Wrap(const ChildSpec& spec, Wrapping& wrapping, ChildInput& input) {
  wrapping.null.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!wrapping.null.valid()) return base::SystemError("open /dev/null", errno);
  CORDON_ASSIGN_OR_RETURN(Pair said, MakePipe());
  wrapping.said = std::move(said.first);
  wrapping.says = std::move(said.second);
  CORDON_ASSIGN_OR_RETURN(wrapping.spec, Sealed("cordon-spec", Pack(*input.spec), 0));
  std::string arguments;
  for (const std::string& argument : spec.bubblewrap->arguments) arguments += argument + '\0';
  CORDON_ASSIGN_OR_RETURN(wrapping.arguments, Sealed("cordon-arguments", arguments, 0));
  wrapping.words = {"bwrap",
                    "--args",
                    std::to_string(kBubblewrapArgumentsFd),
                    "--",
                    std::string(backend::kStageProgram),
                    std::string("-") + kOptionStage};
  wrapping.argv = Pointers(wrapping.words);
  wrapping.environment = {nullptr};
  wrapping.start = {{.op = Op::kExecBubblewrap, .path = spec.bubblewrap->program}};
  wrapping.steps = Flatten(wrapping.start);
  wrapping.flat = {.steps = wrapping.steps.data(),
                   .step_count = wrapping.steps.size(),
                   .init_argv = wrapping.argv.data(),
                   .environment = wrapping.environment.data()};
  const int passed[] = {input.fds.standard[0], input.fds.standard[1],    input.fds.standard[2],
                        wrapping.spec.get(),   wrapping.arguments.get(), input.fds.init};
  std::ranges::copy(passed, input.passed);
  input.passed_count = std::size(passed);
  input.fds.standard[0] = input.fds.standard[1] = wrapping.null.get();
  input.fds.standard[2] = wrapping.says.get();
  input.spec = &wrapping.flat;
  return {};
}

// Bubblewrap's last words, which it ends with.
std::string LastWords(int said) {
  std::string text;
  char buffer[4096];
  pollfd told{said, POLLIN, 0};
  while (text.size() < sizeof(buffer) && poll(&told, 1, 1000) > 0) {
    ssize_t got = read(said, buffer, sizeof(buffer));
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// What the child sends, in the order of the steps that send it; the last tells who it is.
// False: it ended before it got that far.
bool Receive(const ChildSpec& spec, int socket, Launched& launched) {
  bool complete = true;
  pid_t sender = -1;
  auto receive = [&](sys::UniqueFd& fd) {
    if (!complete) return;
    Received received = ReceiveFd(socket);
    sender = received.sender;
    fd = std::move(received.fd);
    complete = fd.valid();
  };
  for (const backend::Step& step : spec.steps) {
    if (step.op == Op::kTerminal) receive(launched.terminal);
    if (step.op == Op::kListen) receive(launched.sockets.emplace_back());
    if (step.op == Op::kSeccomp) receive(launched.listener);
    if (step.op == Op::kSeccomp) receive(launched.root);
  }
  if (!complete || !spec.bubblewrap) return complete;
  launched.pid = sender;
  launched.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, sender, 0)));
  return launched.pidfd.valid();
}

}  // namespace

Result<sys::UniqueFd> InitProgram() {
  return Sealed("cordon-init", {cordon_init_image, cordon_init_image_end}, uapi::kMfdExec);
}

Result<Launched> Launch(Clone& clone, const ChildSpec& spec, const Streams& streams,
                        std::span<const int> cgroups) {
  CORDON_TRY(CheckStreams(streams));
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd init, InitProgram());
  CORDON_ASSIGN_OR_RETURN(Pair control, MakePipe());
  CORDON_ASSIGN_OR_RETURN(Pair status, MakePipe());
  CORDON_ASSIGN_OR_RETURN(Pair listener, MakeSocketPair());
  Flat flat(spec);
  ChildInput input{};
  input.spec = &flat.spec();
  input.fds = {{streams.in, streams.out, streams.err},
               control.first.get(),
               status.second.get(),
               listener.second.get(),
               init.get()};
  input.cgroups = cgroups;
  input.others = backend::TestHookOff("descriptors") ? Others::kKept : Others::kClosed;
  Wrapping wrapping;
  if (spec.bubblewrap) {
    CORDON_TRY(Wrap(spec, wrapping, input));
    int on = 1;
    setsockopt(listener.first.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
  }
  CORDON_ASSIGN_OR_RETURN(Clone::Made made, clone.Run(input));
  Launched launched;
  launched.pid = launched.child = made.pid;
  launched.pidfd = std::move(made.pidfd);
  launched.control = std::move(control.second);
  launched.status = std::move(status.first);
  control.first.reset();
  status.second.reset();
  listener.second.reset();
  wrapping.says.reset();
  if (Receive(spec, listener.first.get(), launched)) return launched;
  // The child ended before it got that far: its report says where.
  Report report{};
  pollfd told{launched.status.get(), POLLIN, 0};
  ssize_t got = poll(&told, 1, 1000) > 0 ? read(launched.status.get(), &report, sizeof(report)) : 0;
  std::string words = wrapping.said.valid() ? LastWords(wrapping.said.get()) : std::string();
  syscall(SYS_pidfd_send_signal, launched.pidfd.get(), SIGKILL, nullptr, 0);
  waitpid(launched.child, nullptr, 0);
  if (got == ssize_t{sizeof(report)} && report.kind == ReportKind::kSetupFailed) {
    return SetupError(spec, report);
  }
  if (!words.empty()) {
    return Error{.code = Code::kSystem,
                 .reason = Reason::kSetupFailed,
                 .message = "setting up the sandbox: " + base::Printable(words)};
  }
  return base::SystemError("setting up the sandbox", ECHILD, Reason::kSetupFailed);
}

}  // namespace cordon::spawn
