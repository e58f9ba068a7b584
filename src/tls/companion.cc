#include "tls/companion.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "sys/uapi.h"

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): symbols of an assembler file
extern const char cordon_tls_image[];
extern const char cordon_tls_image_end[];
// NOLINTEND(readability-identifier-naming)
}

namespace cordon::tls {
namespace {

constexpr int kStartMs = 10'000;
constexpr size_t kMostFds = 3;

Result<sys::UniqueFd> Program() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  sys::UniqueFd fd(memfd_create("cordon-tls", kFlags | uapi::kMfdExec));
  // MFD_EXEC came with Linux 6.3.
  if (!fd.valid() && errno == EINVAL) fd.reset(memfd_create("cordon-tls", kFlags));
  if (!fd.valid()) return base::SystemError("memfd_create", errno, Reason::kSetupFailed);
  std::string_view rest(cordon_tls_image,
                        static_cast<size_t>(cordon_tls_image_end - cordon_tls_image));
  while (!rest.empty()) {
    ssize_t written = write(fd.get(), rest.data(), rest.size());
    if (written <= 0) {
      return base::SystemError("write of the TLS companion", errno, Reason::kSetupFailed);
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return base::SystemError("sealing the TLS companion", errno, Reason::kSetupFailed);
  }
  return fd;
}

// In the child: only what may be done between fork and exec. In a session of its
// own the terminal's signals do not reach it.
[[noreturn]] void Become(int program, int control, int null) {
  setsid();
  // Out of the way of the numbers they are to have.
  program = fcntl(program, F_DUPFD_CLOEXEC, kControlFd + 1);
  control = fcntl(control, F_DUPFD_CLOEXEC, kControlFd + 1);
  null = fcntl(null, F_DUPFD_CLOEXEC, kControlFd + 1);
  bool placed = program >= 0 && control >= 0 && null >= 0 && dup2(control, kControlFd) >= 0;
  for (int stream = 0; stream < 3; ++stream) placed = placed && dup2(null, stream) >= 0;
  constexpr unsigned kCloseOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC
  placed = placed && syscall(SYS_close_range, kControlFd + 1, ~0U, kCloseOnExec) == 0;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char name[] = "cordon-tls";
  char* words[] = {name, nullptr};
  char* environment[] = {nullptr};
  if (placed) syscall(SYS_execveat, program, "", words, environment, AT_EMPTY_PATH);
  _exit(127);
}

Result<sys::UniqueFd> Open(const std::string& path) {
  sys::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return base::SystemError("open " + path, errno, Reason::kSetupFailed);
  return fd;
}

// Only one name of the key is hidden from the sandbox.
Status CheckOnlyName(const sys::UniqueFd& key, const std::string& path) {
  struct stat status{};
  if (fstat(key.get(), &status) != 0) {
    return base::SystemError("stat " + path, errno, Reason::kSetupFailed);
  }
  if (status.st_nlink <= 1) return {};
  return base::InvalidArgument(Reason::kPolicyBadValue,
                               "net.tls.ca: " + path + " has another name (a hard link)");
}

Error Ended() {
  return {.code = Code::kSystem,
          .reason = Reason::kSetupFailed,
          .message = "the TLS companion did not start"};
}

Result<std::string> ReadAnswer(int control) {
  pollfd ready{control, POLLIN, 0};
  if (poll(&ready, 1, kStartMs) != 1) return Ended();
  std::vector<char> buffer(kMaxOrder);
  ssize_t got = recv(control, buffer.data(), buffer.size(), 0);
  if (got < static_cast<ssize_t>(sizeof(Verdict))) return Ended();
  Verdict verdict;
  std::memcpy(&verdict, buffer.data(), sizeof verdict);
  std::string text(buffer.data() + sizeof verdict, static_cast<size_t>(got) - sizeof verdict);
  if (verdict.good != 0) return text;
  return Error{.code = Code::kSystem, .reason = Reason::kSetupFailed, .message = "TLS: " + text};
}

}  // namespace

int SendOrder(int control, Order order, std::string_view host, std::string_view bytes,
              std::span<const int> fds) {
  OrderHead head{.order = order};
  if (host.size() >= kMaxHost || fds.size() > kMostFds || bytes.size() > kMaxOrder - sizeof head) {
    return EMSGSIZE;
  }
  std::ranges::copy(host, head.host);
  // sendmsg does not write through these.
  iovec parts[] = {{&head, sizeof head}, {const_cast<char*>(bytes.data()), bytes.size()}};
  alignas(cmsghdr) char space[CMSG_SPACE(kMostFds * sizeof(int))] = {};
  msghdr message{.msg_iov = parts,
                 .msg_iovlen = 2,
                 .msg_control = space,
                 .msg_controllen = CMSG_SPACE(fds.size_bytes())};
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  for (;;) {
    if (sendmsg(control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

Result<Companion> Companion::Start(const CompanionOptions& options) {
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd program, Program());
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd null, Open("/dev/null"));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::SystemError("socketpair", errno, Reason::kSetupFailed);
  }
  sys::UniqueFd ours(ends[0]), theirs(ends[1]);
  pid_t pid = fork();
  if (pid < 0) return base::SystemError("fork", errno, Reason::kSetupFailed);
  if (pid == 0) Become(program.get(), theirs.get(), null.get());
  theirs.reset();
  Companion companion(pid, std::move(ours));
  CORDON_TRY(companion.Begin(options));
  return companion;
}

Status Companion::Begin(const CompanionOptions& options) {
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd bundle, Open(options.bundle));
  std::vector<sys::UniqueFd> files;
  files.push_back(std::move(bundle));
  if (!options.ca_certificate.empty()) {
    for (const std::string* path : {&options.ca_certificate, &options.ca_key}) {
      auto file = Open(*path);
      if (!file) return std::move(file).error().Within("net.tls.ca");
      files.push_back(std::move(*file));
    }
    CORDON_TRY(CheckOnlyName(files.back(), options.ca_key));
  }
  std::vector<int> fds;
  for (const sys::UniqueFd& file : files) fds.push_back(file.get());
  if (int failed = SendOrder(control_.get(), Order::kBegin, "", "", fds); failed != 0) {
    return base::SystemError("sendmsg to the TLS companion", failed, Reason::kSetupFailed);
  }
  CORDON_ASSIGN_OR_RETURN(ca_pem_, ReadAnswer(control_.get()));
  return {};
}

Companion::Companion(Companion&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      control_(std::move(other.control_)),
      ca_pem_(std::move(other.ca_pem_)) {}

Companion& Companion::operator=(Companion&& other) noexcept {
  if (this == &other) return *this;
  End();
  pid_ = std::exchange(other.pid_, -1);
  control_ = std::move(other.control_);
  ca_pem_ = std::move(other.ca_pem_);
  return *this;
}

Companion::~Companion() { End(); }

// It has nothing to put in order.
void Companion::End() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace cordon::tls
