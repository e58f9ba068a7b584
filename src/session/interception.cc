#include "session/interception.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

#include "base/error.h"
#include "session/credentials.h"
#include "session/java_trust_store.h"
#include "sys/fd.h"

namespace cordon::session {
namespace {

constexpr size_t kMostBundle = 4 * 1024 * 1024;

Result<std::string> ReadBundle(const std::string& path) {
  sys::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return base::SystemError("open " + path, errno, Reason::kSetupFailed);
  std::string text;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::SystemError("read " + path, errno, Reason::kSetupFailed);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kMostBundle) {
      return base::InvalidArgument(Reason::kSetupFailed, path + " is too large for a CA bundle");
    }
  }
}

}  // namespace

Result<Interception> StartTls(const std::map<std::string, std::string>& environment,
                              const plan::NetPlan& net) {
  tls::CompanionOptions options{.bundle = net.trust_source};
  if (net.tls_ca) {
    options.ca_certificate = net.tls_ca->cert;
    options.ca_key = net.tls_ca->key;
  }
  // Before the secrets are read: what it is forked from has none.
  CORDON_ASSIGN_OR_RETURN(tls::Companion companion, tls::Companion::Start(options));
  CORDON_ASSIGN_OR_RETURN(std::vector<proxy::Secret> secrets,
                          ReadSecrets(net.credentials, environment));
  return Interception{std::move(companion), std::move(secrets)};
}

Result<std::optional<Interception>> StartInterception(
    const std::map<std::string, std::string>& environment, plan::Plan& plan) {
  const plan::NetPlan& net = plan.net;
  if (!net.needs_tls()) return std::optional<Interception>();
  CORDON_ASSIGN_OR_RETURN(Interception made, StartTls(environment, net));
  if (net.intercepts()) {
    CORDON_ASSIGN_OR_RETURN(std::string bundle, ReadBundle(net.trust_source));
    bundle += "\n" + made.companion.ca_pem();
    if (!net.trust_store.empty()) plan.files.push_back({net.trust_store, JavaTrustStore(bundle)});
    plan.files.push_back({net.trust_bundle, std::move(bundle)});
    HideSecrets(net.credentials, made.secrets, plan);
  }
  return std::optional(std::move(made));
}

}  // namespace cordon::session
