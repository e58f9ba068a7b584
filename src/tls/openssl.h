// Owners for what OpenSSL allocates. For the companion's sources only: nothing
// of OpenSSL is linked into `cordon` itself.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace cordon::tls {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL_free>>;

// What OpenSSL said last, in its words.
inline std::string LastReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "an unknown failure" : reason;
}

}  // namespace cordon::tls
