// The certificate authority that only the sandbox trusts, and the certificates
// it signs. Keys are never written anywhere.
#pragma once

#include <map>
#include <string>

#include "cordon/result.h"
#include "tls/openssl.h"

namespace cordon::tls {

class Authority {
 public:
  // A new one, good for this run.
  static Result<Authority> Generate();
  // The user's own, from two texts of PEM.
  static Result<Authority> Load(const std::string& certificate, const std::string& key);

  std::string Pem() const;

  // For a name or an address; owned by the authority, and good until the next call.
  Result<X509*> CertificateFor(const std::string& host);
  EVP_PKEY* leaf_key() const { return leaf_key_.get(); }
  X509* certificate() const { return certificate_.get(); }

 private:
  Authority(CertificatePtr certificate, KeyPtr key, KeyPtr leaf_key)
      : certificate_(std::move(certificate)),
        key_(std::move(key)),
        leaf_key_(std::move(leaf_key)) {}

  CertificatePtr certificate_;
  KeyPtr key_;
  KeyPtr leaf_key_;  // one for all hosts: whoever had it could be any of them anyway
  std::map<std::string, CertificatePtr> leaves_;
};

}  // namespace cordon::tls
