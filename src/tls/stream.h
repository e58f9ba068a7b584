// One connection: TLS on one side, its plaintext on the other. Whatever waits is
// held in memory only as far as one read, so that a side that does not take its
// bytes stops the other.
#pragma once

#include <chrono>
#include <string>

#include "sys/fd.h"
#include "tls/openssl.h"

namespace cordon::tls {

class Stream {
 public:
  enum class Role { kServer, kClient };
  using Clock = std::chrono::steady_clock;

  // Both descriptors are non-blocking. `first` was read of the network already.
  Stream(Role role, SslPtr ssl, sys::UniqueFd network, sys::UniqueFd plain,
         const std::string& first);

  // As far as it goes now. kBusy: there is more to do, others first.
  enum class State { kWaiting, kBusy, kOver };
  State Run();

  // The proxy has closed its end: what it said is still delivered, for a while.
  void ProxyGone();
  bool closing() const { return proxy_gone_; }
  bool expired(Clock::time_point now) const { return proxy_gone_ && now >= deadline_; }

  int network() const { return network_.get(); }
  int plain() const { return plain_.get(); }

 private:
  enum class Handshake { kDone, kWaiting, kFailed };
  Handshake Shake();
  void Tell(const std::string& failure);
  std::string WhyNot(int error) const;
  // Whether anything moved.
  bool Inward();
  bool ReadNetwork();
  bool Outward();
  bool ReadPlain();
  bool WriteNetwork();
  void UseSocket();
  bool over() const;

  Role role_;
  SslPtr ssl_;
  sys::UniqueFd network_;
  sys::UniqueFd plain_;
  std::string inward_;   // read of the network, not taken by the proxy yet
  std::string outward_;  // the other way
  bool shaken_ = false;
  bool reads_first_ = false;  // from memory, before the socket
  bool broken_ = false;
  bool network_ended_ = false;
  bool plain_ended_ = false;
  bool told_network_ = false;  // of the other side's end
  bool told_plain_ = false;
  bool proxy_gone_ = false;
  Clock::time_point deadline_{};
};

}  // namespace cordon::tls
