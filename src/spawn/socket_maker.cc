// Runs in: supervisor, broker thread.
#include "spawn/socket_maker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "backend/test_hooks.h"
#include "guard/path.h"
#include "plan/rules.h"
#include "spawn/inside.h"
#include "sys/uapi.h"

namespace cordon::spawn {
namespace {

constexpr size_t kPathOffset = offsetof(sockaddr_un, sun_path);
constexpr size_t kMaxAddress = sizeof(sockaddr_storage);
constexpr in_port_t kFirstUnprivilegedPort = 1024;

std::unexpected<int> Fail(int error) { return std::unexpected(error); }

struct Address {
  std::string bytes;
  sa_family_t family() const {
    sa_family_t family = AF_UNSPEC;
    if (bytes.size() >= sizeof(family)) memcpy(&family, bytes.data(), sizeof(family));
    return family;
  }
  bool abstract() const { return bytes.size() > kPathOffset && bytes[kPathOffset] == '\0'; }
  bool unnamed() const { return bytes.size() <= kPathOffset; }
  std::string path() const { return bytes.c_str() + kPathOffset; }
  in_port_t port() const {
    sockaddr_in address{};  // the port is in the same place for IPv6
    memcpy(&address, bytes.data(), std::min(bytes.size(), sizeof(address)));
    return ntohs(address.sin_port);
  }
};

Answer<Address> ReadAddress(const Caller& caller) {
  uint64_t size = caller.argument(2);
  if (size > kMaxAddress) return Fail(EINVAL);
  if (size == 0) return Address{};
  Answer<std::string> bytes = caller.ReadBytes(caller.argument(1), size);
  if (!bytes) return Fail(bytes.error());
  return Address{std::move(*bytes)};
}

int DomainOf(int socket) {
  int domain = 0;
  socklen_t size = sizeof(domain);
  return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 ? domain : -1;
}

int TypeOf(int socket) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ? type : -1;
}

// 127.0.0.0/8, ::1, and what means the same: the unspecified addresses.
bool IsLoopback(const Address& address) {
  if (address.family() == AF_INET) {
    sockaddr_in v4{};
    memcpy(&v4, address.bytes.data(), std::min(address.bytes.size(), sizeof(v4)));
    uint32_t host = ntohl(v4.sin_addr.s_addr);
    return host >> 24 == 127 || host == 0;
  }
  sockaddr_in6 v6{};
  memcpy(&v6, address.bytes.data(), std::min(address.bytes.size(), sizeof(v6)));
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

const sockaddr* Raw(const std::string& bytes) {
  return reinterpret_cast<const sockaddr*>(bytes.data());
}

}  // namespace

Answer<SocketMaker::SocketKey> SocketMaker::KeyOf(int fd) {
  struct statx status;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME | STATX_CTIME, &status) != 0) {
    return Fail(errno);
  }
  bool born = (status.stx_mask & STATX_BTIME) != 0;
  return SocketKey{(static_cast<uint64_t>(status.stx_dev_major) << 32) | status.stx_dev_minor,
                   status.stx_ino, born ? status.stx_btime.tv_sec : 0,
                   born ? status.stx_btime.tv_nsec : 0};
}

bool SocketMaker::MadeInside(int fd, const std::string& path) const {
  if (backend::TestHookOff("sockets")) return true;
  // Nothing of the host's is in a directory of the sandbox's own.
  if (pidfd_ >= 0 && guard::IsInside(path, "/dev/shm")) return true;
  const plan::Region* region = plan::RegionOf(plan_.fs.regions, path);
  if (region != nullptr && region->source == plan::RegionSource::kPrivate) return true;
  Answer<SocketKey> key = KeyOf(fd);
  return key && made_.contains(*key);
}

bool SocketMaker::Granted(const struct stat& target) const {
  return std::ranges::any_of(plan_.net.unix_sockets, [&](const plan::SocketGrant& grant) {
    if (grant.pinned) {
      uint64_t device = (static_cast<uint64_t>(major(target.st_dev)) << 32) | minor(target.st_dev);
      return grant.device == device && grant.inode == target.st_ino;
    }
    // A server that was started anew has made a new socket.
    uapi::OpenHow how{O_PATH | O_CLOEXEC, 0, uapi::kResolveNoSymlinks};
    sys::UniqueFd now(
        static_cast<int>(syscall(SYS_openat2, AT_FDCWD, grant.path.c_str(), &how, sizeof(how))));
    struct stat granted;
    return now.valid() && fstat(now.get(), &granted) == 0 && granted.st_dev == target.st_dev &&
           granted.st_ino == target.st_ino;
  });
}

// The thread has a working directory of its own (unshared CLONE_FS).
int BindFrom(int parent, const std::string& name, int socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  memcpy(address.sun_path, name.c_str(), name.size() + 1);
  if (fchdir(parent) != 0) return errno;
  int error = bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
  return chdir("/") == 0 ? error : errno;
}

// Whether the directory of `path` leads to `parent` without a link of /proc. Names
// change only through this thread, so a way without such links stays as it is;
// what descriptors and working directories are changes without it.
bool LeadsTo(int from, const std::string& path, uint64_t resolve, int parent) {
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "."
                          : slash == 0               ? "/"
                                                     : path.substr(0, slash);
  uapi::OpenHow how{O_PATH | O_DIRECTORY | O_CLOEXEC, 0, resolve | uapi::kResolveNoMagiclinks};
  sys::UniqueFd found(
      static_cast<int>(syscall(SYS_openat2, from, directory.c_str(), &how, sizeof(how))));
  struct stat one, other;
  return found.valid() && fstat(found.get(), &one) == 0 && fstat(parent, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// The name is bound as the caller wrote it, so that getsockname tells it back.
// That resolves it once more, inside; where it could lead elsewhere by then, it is
// bound from the directory that was judged.
Answer<void> SocketMaker::BindPath(const Caller& caller, int socket, const std::string& path,
                                   const std::string& address) {
  Answer<Place> place = caller.Locate(AT_FDCWD, path);
  if (!place) return Fail(place.error() == EEXIST ? EADDRINUSE : place.error());
  if (place->trailing_slash) return Fail(ENOENT);
  struct stat status;
  if (fstatat(place->parent.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return Fail(EADDRINUSE);
  }
  if (Answer<void> permit = names_.Permit(*place, "bind", plan::Creation::kEmpty); !permit) {
    return permit;
  }
  char link[64];
  snprintf(link, sizeof(link), "/proc/%d/cwd", caller.tid());
  sys::UniqueFd directory(open(link, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || !caller.Waiting()) return Fail(EACCES);
  bool absolute = path.starts_with('/');
  bool steady =
      !plan_.bubblewrap.setuid &&  // whose mounts we cannot enter
      LeadsTo(absolute ? caller.root() : directory.get(), path,
              absolute ? uapi::kResolveInRoot : uapi::kResolveBeneath, place->parent.get());
  int error = steady ? BindInside(pidfd_, directory.get(), static_cast<mode_t>(caller.Umask()),
                                  socket, address)
                     : BindFrom(place->parent.get(), place->name, socket);
  if (error != 0) return Fail(error);
  sys::UniqueFd made(
      openat(place->parent.get(), place->name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  Answer<SocketKey> key = KeyOf(made.get());
  if (made.valid() && key) made_.insert(*key);
  return {};
}

namespace {

uint64_t NumberOf(int socket) {
  struct stat status;
  return fstat(socket, &status) == 0 ? status.st_ino : 0;
}

// Of a unix socket, from the list of all; 0: it is not among them.
int UnixType(uint64_t number) {
  FILE* list = fopen("/proc/net/unix", "re");
  if (list == nullptr) return 0;
  char line[512];
  int type = 0;
  while (type == 0 && fgets(line, sizeof(line), list) != nullptr) {
    unsigned kind = 0;
    uint64_t inode = 0;
    // Num RefCount Protocol Flags Type State Inode Path
    bool read = sscanf(line, "%*x: %*x %*x %*x %x %*x %lu", &kind, &inode) == 2;
    if (read && inode == number) type = static_cast<int>(kind);
  }
  fclose(list);
  return type;
}

}  // namespace

Answer<Borrowed> SocketMaker::Borrow(const Caller& caller, sa_family_t family) {
  int descriptor = caller.descriptor(0);
  Answer<sys::UniqueFd> socket = caller.Duplicate(descriptor);
  if (socket) return Borrowed{std::move(*socket)};
  bool refused = socket.error() == EPERM || socket.error() == ENOSYS;
  if (pidfd_ >= 0 || !refused) return Fail(socket.error());
  uint64_t number = caller.SocketNumber(descriptor);
  if (number == 0) return Fail(ENOTSOCK);
  if (auto kept = kept_.find(number); kept != kept_.end()) {
    return Borrowed{sys::UniqueFd(fcntl(kept->second.get(), F_DUPFD_CLOEXEC, 0))};
  }
  int type = UnixType(number);
  // Of others only streams can be made, where the network is not open.
  if (type == 0 && plan_.net.mode == NetMode::kOpen) return Fail(EPERM);
  int domain = type != 0 ? AF_UNIX : family == AF_INET6 ? AF_INET6 : AF_INET;
  int flags = caller.FlagsOf(descriptor);
  if (flags < 0) return Fail(EBADF);
  int made = ::socket(domain, (type != 0 ? type : SOCK_STREAM) | SOCK_CLOEXEC, 0);
  if (made < 0) return Fail(errno);
  if ((flags & O_NONBLOCK) != 0) fcntl(made, F_SETFL, O_NONBLOCK);
  return Borrowed{sys::UniqueFd(made), descriptor, flags};
}

Answer<void> SocketMaker::Bind(const Caller& caller) {
  Answer<Address> address = ReadAddress(caller);
  if (!address) return Fail(address.error());
  Answer<Borrowed> borrowed = Borrow(caller, address->family());
  if (!borrowed) return Fail(borrowed.error());
  Answer<void> bound = BindBorrowed(caller, borrowed->socket.get(), address->bytes);
  if (!bound || borrowed->replaces < 0) return bound;
  int error = caller.Replace(borrowed->replaces, borrowed->socket.get(), borrowed->flags);
  if (error != 0) return Fail(error);
  constexpr size_t kMostKept = 256;
  if (kept_.size() >= kMostKept) kept_.clear();
  uint64_t number = NumberOf(borrowed->socket.get());
  kept_[number] = std::move(borrowed->socket);
  return {};
}

Answer<void> SocketMaker::BindBorrowed(const Caller& caller, int socket, const std::string& bytes) {
  Address target{bytes};
  const Address* address = &target;
  int domain = DomainOf(socket);
  if (domain < 0) return Fail(ENOTSOCK);
  if (domain == AF_UNIX && address->family() == AF_UNIX && !address->abstract() &&
      !address->unnamed()) {
    return BindPath(caller, socket, address->path(), address->bytes);
  }
  if (pidfd_ < 0 && domain == AF_UNIX) return Fail(EACCES);  // an abstract name is the host's
  if (plan_.net.host_network && plan_.net.mode != NetMode::kOpen) {
    return BindInternet(socket, address->bytes);
  }
  // The supervisor owns the network namespace and would lend that power.
  if (domain == AF_INET || domain == AF_INET6) {
    in_port_t port = address->port();
    if (port != 0 && port < kFirstUnprivilegedPort) return Fail(EACCES);
  }
  if (bind(socket, Raw(address->bytes), static_cast<socklen_t>(address->bytes.size())) != 0) {
    return Fail(errno);
  }
  return {};
}

namespace {

bool Holds(const std::vector<int>& ports, int port) {
  return std::ranges::find(ports, port) != ports.end();
}

std::string LoopbackAddress(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return {reinterpret_cast<const char*>(&address), sizeof(address)};
}

std::string Shown(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  bool v6 = address.family() == AF_INET6;
  sockaddr_in6 bytes{};
  memcpy(&bytes, address.bytes.data(), std::min(address.bytes.size(), sizeof(bytes)));
  const void* host = v6 ? static_cast<const void*>(&bytes.sin6_addr)
                        : &reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr;
  inet_ntop(v6 ? AF_INET6 : AF_INET, host, text, sizeof(text));
  return (v6 ? "[" + std::string(text) + "]" : std::string(text)) + ":" +
         std::to_string(address.port());
}

}  // namespace

// The sandbox has no loopback of its own: a port is bound for a server that the
// policy publishes, on the host's loopback, or for nobody to reach (0).
Answer<void> SocketMaker::BindInternet(int socket, const std::string& bytes) const {
  Address address{bytes};
  if (address.family() != AF_INET) return Fail(EADDRNOTAVAIL);
  if (address.port() != 0 && !Holds(plan_.net.publish, address.port())) return Fail(EACCES);
  std::string loopback = LoopbackAddress(address.port());
  if (bind(socket, Raw(loopback), static_cast<socklen_t>(loopback.size())) != 0) {
    return Fail(errno);
  }
  return {};
}

Answer<void> SocketMaker::Listen(const Caller& caller) {
  Answer<sys::UniqueFd> socket = caller.Duplicate(caller.descriptor(0));
  if (auto kept = kept_.find(caller.SocketNumber(caller.descriptor(0)));
      !socket && kept != kept_.end()) {
    socket = std::move(kept->second);
    kept_.erase(kept);
  }
  if (!socket) return Fail(socket.error() == EPERM ? EACCES : socket.error());
  int domain = DomainOf(socket->get());
  if (domain < 0) return Fail(ENOTSOCK);
  if (domain != AF_UNIX && plan_.net.mode != NetMode::kOpen) {
    sockaddr_in bound{};
    socklen_t size = sizeof(bound);
    bool named = getsockname(socket->get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0;
    if (!named || domain != AF_INET || !Holds(plan_.net.publish, ntohs(bound.sin_port))) {
      return Fail(EACCES);
    }
  }
  if (listen(socket->get(), caller.descriptor(1)) != 0) return Fail(errno);
  return {};
}

// On the host's own network: to the proxy, and to ports that the policy lends.
Answer<std::string> SocketMaker::HostAddress(const std::string& bytes, int domain) {
  Address address{bytes};
  if (address.family() == AF_UNSPEC) return bytes;  // takes a connection back
  if (address.family() != domain) return Fail(EAFNOSUPPORT);
  const plan::NetPlan& net = plan_.net;
  bool ours = net.proxied() && !net.external && address.port() == net.proxy_port;
  bool may = ours || Holds(net.host_ports, address.port());
  if (may && IsLoopback(address)) {
    // The host's loopback of IPv6 is another one.
    if (domain != AF_INET) return Fail(ECONNREFUSED);
    return LoopbackAddress(address.port());
  }
  violations_.Add(Reason::kHostDenied, "connect", Shown(address), "backend landlock",
                  net.proxied() ? "the way out is the proxy of the environment" : "");
  return Fail(EACCES);
}

Answer<PendingConnect> SocketMaker::Connect(const Caller& caller) {
  Answer<Address> address = ReadAddress(caller);
  if (!address) return Fail(address.error());
  const Address& target = *address;
  Answer<Borrowed> borrowed = Borrow(caller, target.family());
  if (!borrowed) return Fail(borrowed.error());
  int domain = DomainOf(borrowed->socket.get());
  if (domain < 0) return Fail(ENOTSOCK);
  PendingConnect pending{std::move(*borrowed), {}, target.bytes};
  bool internet = domain == AF_INET || domain == AF_INET6;
  if (internet && plan_.net.host_network && plan_.net.mode != NetMode::kOpen) {
    Answer<std::string> to = HostAddress(target.bytes, domain);
    if (!to) return Fail(to.error());
    pending.address = std::move(*to);
    return pending;
  }
  if (internet && !plan_.net.host_network) {
    // The listeners of transparent capture stand for other machines; on its own
    // loopback the sandbox meets only itself.
    const std::vector<int>& ports = plan_.net.ports;
    bool captured = std::ranges::find(ports, target.port()) != ports.end();
    if (captured && IsLoopback(target)) return Fail(ECONNREFUSED);
    bool elsewhere =
        !captured && !IsLoopback(target) && TypeOf(pending.borrowed.socket.get()) == SOCK_STREAM;
    if (elsewhere && before_connect_) before_connect_(target.bytes);
  }
  if (domain != AF_UNIX || target.family() != AF_UNIX) return pending;
  if (target.unnamed()) return Fail(EINVAL);
  if (target.abstract()) {
    // In a network namespace of its own the sandbox meets only its own names.
    if (plan_.net.own_namespace()) return pending;
    violations_.Add(Reason::kUnixSocket, "connect", "@" + target.bytes.substr(kPathOffset + 1),
                    "net.unix_sockets");
    return Fail(EPERM);
  }
  Answer<sys::UniqueFd> found = caller.Find(AT_FDCWD, target.path());
  if (!found) return Fail(found.error());
  struct stat status;
  if (fstat(found->get(), &status) != 0) return Fail(errno);
  if (!S_ISSOCK(status.st_mode)) return Fail(ECONNREFUSED);
  std::string path = PathOf(found->get());
  if (!MadeInside(found->get(), path) && !Granted(status)) {
    violations_.Add(Reason::kUnixSocket, "connect", path, "net.unix_sockets");
    return Fail(EACCES);
  }
  pending.target = std::move(*found);
  return pending;
}

int CompleteConnect(const PendingConnect& pending) {
  int result;
  if (pending.target.valid()) {
    // Through the descriptor: the inode that was judged, whatever its name is now.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", pending.target.get());
    result = connect(pending.borrowed.socket.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof(address));
  } else {
    result = connect(pending.borrowed.socket.get(), Raw(pending.address),
                     static_cast<socklen_t>(pending.address.size()));
  }
  return result == 0 ? 0 : errno;
}

std::optional<int> ConnectAtOnce(const PendingConnect& pending) {
  int socket = pending.borrowed.socket.get();
  int status = fcntl(socket, F_GETFL);
  // The flag is the caller's too, who waits for this call.
  bool blocking = (status & O_NONBLOCK) == 0;
  if (blocking) fcntl(socket, F_SETFL, status | O_NONBLOCK);
  int error = CompleteConnect(pending);
  // Loopback has answered by now: asking again tells.
  if (blocking && error == EINPROGRESS) error = CompleteConnect(pending);
  if (blocking) fcntl(socket, F_SETFL, status);
  bool waits = blocking && (error == EALREADY || error == EAGAIN);
  return waits ? std::nullopt : std::optional(error);
}

}  // namespace cordon::spawn
