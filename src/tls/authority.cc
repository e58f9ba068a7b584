#include "tls/authority.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>

namespace cordon::tls {
namespace {

constexpr size_t kMostLeaves = 1024;
constexpr size_t kMaxCommonName = 64;
constexpr int kSerialBytes = 16;
constexpr long kDay = 24 * 60 * 60;

Error Failed(const std::string& what) {
  return {
      .code = Code::kSystem, .reason = Reason::kSystemCall, .message = what + ": " + LastReason()};
}

KeyPtr NewKey() { return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")); }

bool SetSerial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] &= 0x7f;  // a serial is positive
  bytes[0] |= 0x40;
  std::unique_ptr<BIGNUM, Freed<BN_free>> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// Clocks of the sandbox are the host's, but tools warp them.
bool SetLifetime(X509* certificate) {
  return X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), 365 * kDay) != nullptr;
}

bool AddName(X509_NAME* name, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Only what a name or an address is made of goes into OpenSSL's little language
// of extensions.
bool IsPlain(const std::string& host) {
  return !host.empty() && host.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789.-_:") == host.npos;
}

bool FillAuthority(X509* certificate, EVP_PKEY* key) {
  X509_NAME* name = X509_get_subject_name(certificate);
  return X509_set_version(certificate, X509_VERSION_3) == 1 && SetSerial(certificate) &&
         SetLifetime(certificate) && X509_set_pubkey(certificate, key) == 1 &&
         AddName(name, "O", "Cordon") && AddName(name, "CN", "Cordon, one sandbox's own CA") &&
         X509_set_issuer_name(certificate, name) == 1 &&
         AddExtension(certificate, certificate, NID_basic_constraints,
                      "critical,CA:TRUE,pathlen:0") &&
         AddExtension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
         AddExtension(certificate, certificate, NID_subject_key_identifier, "hash") &&
         X509_sign(certificate, key, EVP_sha256()) != 0;
}

bool FillLeaf(X509* leaf, EVP_PKEY* leaf_key, X509* issuer, const std::string& host) {
  std::string common = host.size() <= kMaxCommonName ? host : "cordon";
  return X509_set_version(leaf, X509_VERSION_3) == 1 && SetSerial(leaf) && SetLifetime(leaf) &&
         X509_set_pubkey(leaf, leaf_key) == 1 &&
         AddName(X509_get_subject_name(leaf), "CN", common) &&
         X509_set_issuer_name(leaf, X509_get_subject_name(issuer)) == 1 &&
         AddExtension(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         AddExtension(leaf, issuer, NID_key_usage, "critical,digitalSignature") &&
         AddExtension(leaf, issuer, NID_ext_key_usage, "serverAuth") &&
         AddExtension(leaf, issuer, NID_subject_key_identifier, "hash") &&
         (X509_get0_subject_key_id(issuer) == nullptr ||
          AddExtension(leaf, issuer, NID_authority_key_identifier, "keyid")) &&
         AddExtension(leaf, issuer, NID_subject_alt_name,
                      (IsAddress(host) ? "IP:" : "DNS:") + host);
}

// EdDSA names its digest itself.
const EVP_MD* DigestFor(const EVP_PKEY* key) {
  int type = EVP_PKEY_get_base_id(key);
  return type == EVP_PKEY_ED25519 || type == EVP_PKEY_ED448 ? nullptr : EVP_sha256();
}

}  // namespace

Result<Authority> Authority::Generate() {
  KeyPtr key = NewKey(), leaf_key = NewKey();
  CertificatePtr certificate(X509_new());
  if (!key || !leaf_key || !certificate || !FillAuthority(certificate.get(), key.get())) {
    return Failed("making a certificate authority");
  }
  return Authority(std::move(certificate), std::move(key), std::move(leaf_key));
}

Result<Authority> Authority::Load(const std::string& certificate, const std::string& key) {
  BioPtr certificate_text(
      BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  BioPtr key_text(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  CertificatePtr loaded(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  if (!loaded) return Failed("reading the certificate of net.tls.ca");
  // An empty password: a key that needs one is refused, not asked about.
  char none[] = "";
  KeyPtr loaded_key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, none));
  if (!loaded_key) return Failed("reading the key of net.tls.ca");
  if (X509_check_private_key(loaded.get(), loaded_key.get()) != 1) {
    return Failed("the key of net.tls.ca is not the certificate's");
  }
  if (X509_check_ca(loaded.get()) != 1) {
    return Error{.code = Code::kInvalidArgument,
                 .reason = Reason::kPolicyBadValue,
                 .message = "the certificate of net.tls.ca is not a CA's"};
  }
  KeyPtr leaf_key = NewKey();
  if (!leaf_key) return Failed("making a key");
  return Authority(std::move(loaded), std::move(loaded_key), std::move(leaf_key));
}

std::string Authority::Pem() const {
  BioPtr text(BIO_new(BIO_s_mem()));
  char* bytes = nullptr;
  if (!text || PEM_write_bio_X509(text.get(), certificate_.get()) != 1) return {};
  long size = BIO_get_mem_data(text.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

Result<X509*> Authority::CertificateFor(const std::string& host) {
  if (auto known = leaves_.find(host); known != leaves_.end()) return known->second.get();
  CertificatePtr leaf(X509_new());
  if (!IsPlain(host) || !leaf || !FillLeaf(leaf.get(), leaf_key_.get(), certificate_.get(), host) ||
      X509_sign(leaf.get(), key_.get(), DigestFor(key_.get())) == 0) {
    return Failed("making a certificate for " + host);
  }
  if (leaves_.size() >= kMostLeaves) leaves_.clear();
  return leaves_.emplace(host, std::move(leaf)).first->second.get();
}

}  // namespace cordon::tls
