// cordon-tls: does TLS for the proxy, which has no OpenSSL in it. It decides
// nothing: it is handed connections that were decided on, and their plaintext
// goes back to the proxy. Started with one socket and nothing else; when that
// closes, it ends. See protocol.h.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <openssl/crypto.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sys/fd.h"
#include "sys/uapi.h"
#include "tls/companion_program.h"
#include "tls/endpoints.h"
#include "tls/protocol.h"
#include "tls/stream.h"

namespace cordon::tls {
namespace {

using sys::UniqueFd;

constexpr size_t kMostFds = 3;
constexpr size_t kMostFile = 4 * 1024 * 1024;
constexpr int kLookMs = 1000;

struct Received {
  OrderHead head;
  std::string bytes;
  std::vector<UniqueFd> fds;
};

enum class Next { kOrder, kNothing, kEnd };

void TakeFds(msghdr& message, std::vector<UniqueFd>& fds) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

Next Receive(Received& order, int flags) {
  static std::array<char, kMaxOrder> buffer;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  iovec data{buffer.data(), buffer.size()};
  msghdr message{
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t got = recvmsg(kControlFd, &message, flags | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Next::kNothing;
  if (got <= 0) return Next::kEnd;
  order.fds.clear();
  TakeFds(message, order.fds);
  auto size = static_cast<size_t>(got);
  bool whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  // Closing its descriptors is the answer to what cannot be read.
  if (!whole || size < sizeof order.head) return Next::kNothing;
  std::memcpy(&order.head, buffer.data(), sizeof order.head);
  order.head.host[kMaxHost - 1] = '\0';
  order.bytes.assign(buffer.data() + sizeof order.head, size - sizeof order.head);
  return Next::kOrder;
}

std::string ReadFile(int fd) {
  std::string text;
  std::array<char, 64 * 1024> buffer;
  while (text.size() < kMostFile) {
    ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  OPENSSL_cleanse(buffer.data(), buffer.size());
  return text;
}

Result<Endpoints> Begin(const Received& order) {
  if (order.head.order != Order::kBegin || order.fds.empty()) {
    return Error{.message = "not an order to begin"};
  }
  std::string bundle = ReadFile(order.fds[0].get());
  if (order.fds.size() < 3) {
    CORDON_ASSIGN_OR_RETURN(Authority generated, Authority::Generate());
    return Endpoints::Make(std::move(generated), bundle);
  }
  std::string key = ReadFile(order.fds[2].get());
  Result<Authority> loaded = Authority::Load(ReadFile(order.fds[1].get()), key);
  OPENSSL_cleanse(key.data(), key.size());
  if (!loaded) return std::move(loaded).error();
  return Endpoints::Make(std::move(*loaded), bundle);
}

bool Answer(const Result<Endpoints>& begun) {
  Verdict verdict{.good = begun.has_value()};
  std::string text(reinterpret_cast<const char*>(&verdict), sizeof verdict);
  text += begun ? begun->authority().Pem() : begun.error().message;
  return send(kControlFd, text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

void MakeNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

class Loop {
 public:
  Loop(Endpoints endpoints, UniqueFd epoll)
      : endpoints_(std::move(endpoints)), epoll_(std::move(epoll)) {}

  void Run() {
    epoll_event control{.events = EPOLLIN, .data = {.fd = kControlFd}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, kControlFd, &control) != 0) return;
    std::array<epoll_event, 64> events;
    for (;;) {
      int timeout = !busy_.empty() ? 0 : closing_ ? kLookMs : -1;
      int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout);
      if (count < 0 && errno != EINTR) return;
      std::vector<int> ready = std::move(busy_);
      busy_.clear();
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<size_t>(i)];
        if (event.data.fd == kControlFd) {
          if (!TakeOrders()) return;
        } else {
          Note(event);
          ready.push_back(event.data.fd);
        }
      }
      for (int fd : ready) Advance(fd);
      if (closing_) EndExpired();
    }
  }

 private:
  // A stream is known by its plaintext's descriptor; the network's leads to it.
  Stream* Find(int fd) {
    auto plain = plain_of_.find(fd);
    auto found = streams_.find(plain == plain_of_.end() ? fd : plain->second);
    return found == streams_.end() ? nullptr : found->second.get();
  }

  bool TakeOrders() {
    Received order;
    for (;;) {
      Next next = Receive(order, MSG_DONTWAIT);
      if (next == Next::kEnd) return false;
      if (next == Next::kNothing) return true;
      if (order.fds.size() == 2) Start(std::move(order));
    }
  }

  void Start(Received order) {
    bool serves = order.head.order == Order::kServe;
    if (!serves && order.head.order != Order::kConnect) return;
    auto ssl = serves ? endpoints_.Server(order.head.host) : endpoints_.Client(order.head.host);
    for (const UniqueFd& fd : order.fds) MakeNonBlocking(fd.get());
    if (!ssl) return;
    int network = order.fds[0].get(), plain = order.fds[1].get();
    auto stream = std::make_unique<Stream>(serves ? Stream::Role::kServer : Stream::Role::kClient,
                                           std::move(*ssl), std::move(order.fds[0]),
                                           std::move(order.fds[1]), order.bytes);
    for (int fd : {network, plain}) {
      epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.fd = fd}};
      if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return;
    }
    plain_of_[network] = plain;
    streams_[plain] = std::move(stream);
    busy_.push_back(plain);
  }

  void Note(const epoll_event& event) {
    Stream* stream = Find(event.data.fd);
    bool gone = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    if (stream == nullptr || !gone || event.data.fd != stream->plain()) return;
    stream->ProxyGone();
    closing_ = true;
  }

  void Advance(int fd) {
    Stream* stream = Find(fd);
    if (stream == nullptr) return;
    switch (stream->Run()) {
      case Stream::State::kWaiting:
        break;
      case Stream::State::kBusy:
        busy_.push_back(stream->plain());
        break;
      case Stream::State::kOver:
        End(*stream);
        break;
    }
  }

  void End(const Stream& stream) {
    plain_of_.erase(stream.network());
    streams_.erase(stream.plain());
  }

  void EndExpired() {
    auto now = Stream::Clock::now();
    closing_ = false;
    for (auto at = streams_.begin(); at != streams_.end();) {
      Stream& stream = *(at++)->second;
      if (stream.expired(now)) {
        End(stream);
      } else {
        closing_ = closing_ || stream.closing();
      }
    }
  }

  Endpoints endpoints_;
  UniqueFd epoll_;
  std::unordered_map<int, std::unique_ptr<Stream>> streams_;
  std::unordered_map<int, int> plain_of_;
  std::vector<int> busy_;
  bool closing_ = false;  // some stream's proxy is gone
};

// Nobody reads its memory, and it leaves none behind.
void Protect() {
  prctl(PR_SET_NAME, "cordon-tls");  // not the number of a descriptor
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  signal(SIGPIPE, SIG_IGN);
}

// Files and addresses are out of reach twice. Where the kernel has no Landlock the
// filter does it alone.
void RestrictByLandlock() {
  constexpr uint64_t kAllOfAbi1 = (1U << 13) - 1, kBindAndConnect = 3;
  constexpr long kAbiWithNet = 4, kAbiWithScopes = 6;
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, uapi::kLandlockCreateRulesetVersion);
  if (abi < 1) return;
  uapi::LandlockRulesetAttr rules{kAllOfAbi1, 0, 0};
  if (abi >= kAbiWithNet) rules.handled_access_net = kBindAndConnect;
  if (abi >= kAbiWithScopes) rules.scoped = uapi::kScopeAbstractUnixSocket | uapi::kScopeSignal;
  // An older kernel takes a longer struct whose rest is zero.
  UniqueFd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0)));
  if (ruleset.valid()) syscall(SYS_landlock_restrict_self, ruleset.get(), 0);
}

// From here on it opens nothing and connects to nothing: descriptors are all that it
// works with. False: it could not be done.
bool Confine() {
  RestrictByLandlock();
  const sock_fprog filter{std::size(kCompanionProgram),
                          const_cast<sock_filter*>(kCompanionProgram)};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

int Main() {
  Protect();
  // No openssl.cnf: what it says about engines and files is the host's business.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  Received order;
  Next next = Next::kNothing;
  while (next == Next::kNothing) next = Receive(order, 0);
  if (next == Next::kEnd) return 0;
  Result<Endpoints> begun = Begin(order);
  order.fds.clear();
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!Confine()) begun = Error{.message = "the companion could not be confined"};
  if (!Answer(begun) || !begun) return 1;
  Loop(std::move(*begun), std::move(epoll)).Run();
  return 0;
}

}  // namespace
}  // namespace cordon::tls

int main() { return cordon::tls::Main(); }
