// The companion process that does TLS: from its start to its end. OpenSSL lives
// there, and is not part of this program.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

#include "cordon/result.h"
#include "sys/fd.h"
#include "tls/protocol.h"

namespace cordon::tls {

struct CompanionOptions {
  std::string bundle;          // file: the authorities that real servers are verified by
  std::string ca_certificate;  // files of the user's own CA, both or none
  std::string ca_key;
};

// Move-only; ending it ends the process.
class Companion {
 public:
  static Result<Companion> Start(const CompanionOptions& options);
  Companion(Companion&& other) noexcept;
  Companion& operator=(Companion&& other) noexcept;
  ~Companion();

  // The authority that signs what the sandbox's clients are shown.
  const std::string& ca_pem() const { return ca_pem_; }
  // Orders are sent here.
  sys::UniqueFd TakeControl() { return std::move(control_); }

 private:
  Companion(pid_t pid, sys::UniqueFd control) : pid_(pid), control_(std::move(control)) {}
  Status Begin(const CompanionOptions& options);
  void End();

  pid_t pid_ = -1;
  sys::UniqueFd control_;
  std::string ca_pem_;
};

// One order, without waiting: 0, or an errno (EAGAIN: not now).
int SendOrder(int control, Order order, std::string_view host, std::string_view bytes,
              std::span<const int> fds);

}  // namespace cordon::tls
