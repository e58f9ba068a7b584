// What the proxy and the TLS companion say to each other.
//
// Orders go one way, over a SOCK_SEQPACKET socket: an OrderHead, then as many
// bytes as are left in the packet, with descriptors beside them. The answer to
// kBegin is one packet that begins with a Verdict. The answer to kServe and
// kConnect is a Verdict at the start of the plaintext, once the handshake has
// ended. After it the plaintext is the connection's own bytes.
//
// How a plaintext stream ends: the companion shuts down its writing side after
// a close_notify of the peer, and closes its end at once (which the proxy sees as
// a hang-up) when the connection broke. An end from the proxy is always passed on
// as a close_notify.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cordon::tls {

enum class Order : uint32_t {
  kBegin = 1,  // descriptors: the bundle that servers are verified by; a CA's certificate and key
  kServe,      // descriptors: the client's connection, the plaintext; bytes: what was read of it
  kConnect,    // descriptors: the server's connection, the plaintext
};

inline constexpr size_t kMaxHost = 256;
inline constexpr size_t kMaxOrder = 64 * 1024;
inline constexpr int kControlFd = 3;

struct OrderHead {
  Order order = Order::kBegin;
  char host[kMaxHost] = {};  // a name or an address, with a NUL at its end
};

struct Verdict {
  uint8_t good = 0;
  uint8_t size = 0;  // of the text that follows: what failed. After kBegin it does
                     // not count: all of the packet is text, or the CA as PEM
};

}  // namespace cordon::tls
