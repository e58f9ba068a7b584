// The egress proxy: one thread that accepts what the sandbox connects to and
// dials out from the host's network. Move-only; ending it closes every
// connection. Whatever fails, fails closed: nothing is ever passed on undecided.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cordon/result.h"
#include "guard/net_rules.h"
#include "proxy/credential.h"
#include "proxy/net_event.h"
#include "sys/fd.h"

namespace cordon::proxy {

// Listening sockets, made by the caller in whichever network namespace they
// belong to, non-blocking.
struct Forward {
  sys::UniqueFd listener;
  int port = 0;
};

struct Listeners {
  std::vector<sys::UniqueFd> mux;      // HTTP/1.1 and SOCKS5 by the first byte
  std::vector<sys::UniqueFd> capture;  // transparent: the destination is getsockname
  std::vector<sys::UniqueFd> dns_udp;
  std::vector<sys::UniqueFd> dns_tcp;
  std::vector<Forward> host_ports;  // inside → the port of the host's loopback
  std::vector<Forward> publish;     // on the host → the port of the sandbox's loopback
};

// Makes a stream socket, non-blocking; invalid with errno if it cannot.
using SocketFactory = std::function<sys::UniqueFd(guard::Family)>;

struct Limits {
  size_t head_bytes = 16 * 1024;
  uint64_t handshake_ms = 10'000;
  uint64_t connect_ms = 10'000;
  uint64_t idle_ms = 300'000;  // over both directions together
  size_t connections = 4096;
};

struct ProxyOptions {
  guard::NetRules rules;
  std::string upstream;  // "http://user:pass@proxy.corp:3128", https://, socks5://; empty: direct
  std::string no_proxy;  // names, suffixes and CIDRs that `upstream` is not used for
  Limits limits;
  EventSink on_event;
  sys::UniqueFd tls;  // of a tls::Companion; without it no TLS is looked into
  std::vector<Secret> secrets;
  SocketFactory inside;  // of the sandbox's network namespace, for `publish`
};

class Proxy {
 public:
  static Result<Proxy> Start(ProxyOptions options, Listeners listeners);
  Proxy(Proxy&&) noexcept;
  Proxy& operator=(Proxy&&) noexcept;
  ~Proxy();  // ends the thread; no event is delivered afterwards

  // One connection that nobody had to listen for, as if it came to Listeners::mux. From
  // any thread; non-blocking.
  void Serve(sys::UniqueFd client);

  // One more of Listeners::capture, from any thread.
  void Capture(sys::UniqueFd listener);

  // Decides new connections by `rules` from now on; open ones that they no
  // longer allow are cut.
  void Reload(guard::NetRules rules);

 private:
  class Impl;
  explicit Proxy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cordon::proxy
