#include "tls/stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tls/protocol.h"

namespace cordon::tls {
namespace {

constexpr int kTurns = 16;
constexpr size_t kRecord = 16 * 1024;
constexpr std::chrono::seconds kClosing(10);

bool IsRetry(int error) { return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE; }

ssize_t Send(int fd, const std::string& bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Stream::Stream(Role role, SslPtr ssl, sys::UniqueFd network, sys::UniqueFd plain,
               const std::string& first)
    : role_(role), ssl_(std::move(ssl)), network_(std::move(network)), plain_(std::move(plain)) {
  BIO* socket = BIO_new_socket(network_.get(), BIO_NOCLOSE);
  SSL_set_bio(ssl_.get(), socket, socket);
  if (first.empty()) return;
  BIO* memory = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(memory, -1);
  broken_ = BIO_write(memory, first.data(), static_cast<int>(first.size())) !=
            static_cast<int>(first.size());
  SSL_set0_rbio(ssl_.get(), memory);
  reads_first_ = true;
}

void Stream::UseSocket() {
  if (!reads_first_ || BIO_pending(SSL_get_rbio(ssl_.get())) > 0) return;
  BIO* socket = SSL_get_wbio(ssl_.get());
  BIO_up_ref(socket);
  SSL_set0_rbio(ssl_.get(), socket);
  reads_first_ = false;
}

Stream::State Stream::Run() {
  if (!shaken_ && !broken_) {
    Handshake handshake = Shake();
    if (handshake == Handshake::kWaiting) return proxy_gone_ ? State::kOver : State::kWaiting;
    broken_ = handshake == Handshake::kFailed;
    shaken_ = !broken_;
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    if (over()) return State::kOver;
    bool in = Inward();
    bool out = Outward();
    if (!in && !out) return over() ? State::kOver : State::kWaiting;
  }
  return State::kBusy;
}

Stream::Handshake Stream::Shake() {
  for (;;) {
    ERR_clear_error();
    bool from_memory = reads_first_;
    int result = SSL_do_handshake(ssl_.get());
    // Asked before the source changes: it looks at that.
    int error = SSL_get_error(ssl_.get(), result);
    UseSocket();
    if (result == 1) break;
    if (!IsRetry(error)) {
      Tell(WhyNot(error));
      return Handshake::kFailed;
    }
    // What memory did not have the socket may have already.
    if (!from_memory || reads_first_) return Handshake::kWaiting;
  }
  Tell("");
  return Handshake::kDone;
}

// The plaintext has room for it: nothing was sent there before.
void Stream::Tell(const std::string& failure) {
  Verdict verdict{.good = failure.empty(),
                  .size = static_cast<uint8_t>(std::min<size_t>(failure.size(), 255))};
  std::string text(reinterpret_cast<const char*>(&verdict), sizeof verdict);
  Send(plain_.get(), text.append(failure, 0, verdict.size));
}

std::string Stream::WhyNot(int error) const {
  int system = errno;
  long verified = SSL_get_verify_result(ssl_.get());
  if (role_ == Role::kClient && verified != X509_V_OK) {
    return std::string("its certificate is not accepted: ") +
           X509_verify_cert_error_string(verified);
  }
  if (ERR_peek_last_error() != 0) return "TLS: " + LastReason();
  if (error == SSL_ERROR_SYSCALL && system != 0) {
    return std::string("TLS: ") + strerror(system);
  }
  return "TLS: the connection ended during the handshake";
}

bool Stream::ReadNetwork() {
  static std::array<char, kRecord> buffer;
  ERR_clear_error();
  int got = SSL_read(ssl_.get(), buffer.data(), buffer.size());
  if (got > 0) {
    inward_.assign(buffer.data(), static_cast<size_t>(got));
    return true;
  }
  int error = SSL_get_error(ssl_.get(), got);
  bool waits = reads_first_;
  UseSocket();
  if (IsRetry(error)) return waits && !reads_first_;
  network_ended_ = error == SSL_ERROR_ZERO_RETURN;
  broken_ = !network_ended_;
  return true;
}

bool Stream::Inward() {
  bool moved = false;
  if (inward_.empty() && !network_ended_ && !broken_) moved = ReadNetwork();
  if (!inward_.empty()) {
    ssize_t sent = Send(plain_.get(), inward_);
    if (sent > 0) inward_.erase(0, static_cast<size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      // Nobody is there to take it. What the proxy said last is still delivered.
      inward_.clear();
      if (!proxy_gone_) broken_ = true;
    }
    moved = moved || sent > 0;
  }
  if (inward_.empty() && network_ended_ && !told_plain_) {
    shutdown(plain_.get(), SHUT_WR);
    told_plain_ = true;
  }
  return moved;
}

bool Stream::ReadPlain() {
  static std::array<char, kRecord> buffer;
  ssize_t got = recv(plain_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) {
    outward_.assign(buffer.data(), static_cast<size_t>(got));
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  // A proxy that closed with bytes of ours unread is gone all the same.
  plain_ended_ = true;
  return true;
}

bool Stream::WriteNetwork() {
  ERR_clear_error();
  int sent = SSL_write(ssl_.get(), outward_.data(), static_cast<int>(outward_.size()));
  if (sent > 0) {
    outward_.erase(0, static_cast<size_t>(sent));
    deadline_ = Clock::now() + kClosing;
    return true;
  }
  broken_ = broken_ || !IsRetry(SSL_get_error(ssl_.get(), sent));
  return false;
}

bool Stream::Outward() {
  bool moved = false;
  if (broken_) return false;
  if (outward_.empty() && !plain_ended_) moved = ReadPlain();
  if (!outward_.empty()) moved = WriteNetwork() || moved;
  if (outward_.empty() && plain_ended_ && !told_network_ && !broken_) {
    ERR_clear_error();
    int said = SSL_shutdown(ssl_.get());
    if (said < 0 && IsRetry(SSL_get_error(ssl_.get(), said))) return moved;
    shutdown(network_.get(), SHUT_WR);
    told_network_ = true;
  }
  return moved;
}

void Stream::ProxyGone() {
  if (proxy_gone_) return;
  proxy_gone_ = true;
  deadline_ = Clock::now() + kClosing;
}

// A client gets the time to take the last words: closing with its own unread
// would reset them. A server is just left.
bool Stream::over() const {
  return broken_ || (told_network_ && (told_plain_ || (proxy_gone_ && role_ == Role::kClient)));
}

}  // namespace cordon::tls
