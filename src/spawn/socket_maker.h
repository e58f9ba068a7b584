// Runs in: supervisor, broker thread. bind() and connect() on a caller's
// behalf: sockets made inside can be reached, the host's cannot.
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "plan/plan.h"
#include "spawn/caller.h"
#include "spawn/name_maker.h"

namespace cordon::spawn {

// A connect() that may have to wait, for another thread to do.
// A caller's socket. Where the host lets nobody take another's descriptors, it is a
// new one, which takes the place of the caller's once it is what was asked for.
struct Borrowed {
  sys::UniqueFd socket;
  int replaces = -1;  // number of the caller's descriptor
  int flags = 0;      // of that one
};

struct PendingConnect {
  Borrowed borrowed;
  sys::UniqueFd target;  // O_PATH of a unix socket; invalid: connect to `address`
  std::string address;   // struct sockaddr
};

// Called before a connection by TCP to where none of the plan's listeners is, and not
// on loopback: the address as a struct sockaddr. It may make one listen there.
using BeforeConnect = std::function<void(const std::string& address)>;

class SocketMaker {
 public:
  // `pidfd`: the sandbox's first process; -1: there are no namespaces.
  SocketMaker(const plan::Plan& plan, int pidfd, NameMaker& names, ViolationLog& violations)
      : plan_(plan), pidfd_(pidfd), names_(names), violations_(violations) {}

  void SetBeforeConnect(BeforeConnect hook) { before_connect_ = std::move(hook); }

  Answer<void> Bind(const Caller& caller);
  Answer<PendingConnect> Connect(const Caller& caller);
  // Without namespaces: of the host's network only what net.publish names listens on.
  Answer<void> Listen(const Caller& caller);

 private:
  // Device, inode and birth time: an inode number alone can be used again.
  using SocketKey = std::tuple<uint64_t, uint64_t, int64_t, uint32_t>;
  static Answer<SocketKey> KeyOf(int fd);
  Answer<void> BindInternet(int socket, const std::string& address) const;
  Answer<std::string> HostAddress(const std::string& address, int domain);
  bool MadeInside(int fd, const std::string& path) const;
  bool Granted(const struct stat& target) const;
  Answer<Borrowed> Borrow(const Caller& caller, sa_family_t family);
  Answer<void> BindBorrowed(const Caller& caller, int socket, const std::string& address);
  Answer<void> BindPath(const Caller& caller, int socket, const std::string& path,
                        const std::string& address);

  const plan::Plan& plan_;
  int pidfd_;
  NameMaker& names_;
  ViolationLog& violations_;
  std::set<SocketKey> made_;
  BeforeConnect before_connect_;            // may be empty
  std::map<uint64_t, sys::UniqueFd> kept_;  // put in a caller's place, not listening yet
};

// Without waiting: 0 or an errno; nothing when it has to wait, in CompleteConnect.
std::optional<int> ConnectAtOnce(const PendingConnect& pending);
// Runs in the thread that may wait.
int CompleteConnect(const PendingConnect& pending);

}  // namespace cordon::spawn
