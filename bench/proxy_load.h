// The two ends of the proxy benchmark: a server on loopback, and a client that
// measures the way to it.
#pragma once

#include <string>

#include "sys/fd.h"

namespace cordon::bench {

enum class Way { kDirect, kConnect, kSocks5 };

struct Route {
  Way way = Way::kDirect;
  int port = 0;    // what the client connects to
  int target = 0;  // what it asks the proxy for
};

enum class Measure { kLatency, kRate, kOneStream, kManyStreams };

// A listener on a free port of 127.0.0.1.
sys::UniqueFd ListenOnLoopback();
int PortOf(int fd);
// A stream to a port of 127.0.0.1; not valid if nobody listens.
sys::UniqueFd ConnectToLoopback(int port);

// Answers each connection's first byte: 'e' with one byte and the end, 'b' with
// bytes for as long as they are taken.
[[noreturn]] void ServeTarget(sys::UniqueFd listener);

// A fraction of a second's work: µs to the first byte through a new tunnel, or new
// connections per second, or bytes per second. 0 if any connection failed.
double MeasureOnce(Measure measure, const Route& route);

// The same by a line of text, for a client in another process.
std::string FormatOrder(Measure measure, const Route& route);
[[noreturn]] void ServeOrders();  // from stdin, a number to stdout for each

}  // namespace cordon::bench
