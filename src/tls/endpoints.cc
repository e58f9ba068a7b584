#include "tls/endpoints.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <strings.h>

#include <array>
#include <string_view>

namespace cordon::tls {
namespace {

constexpr std::string_view kHttp = "http/1.1";
constexpr unsigned char kOffered[] = "\x08http/1.1";

Error Failed(const std::string& what) {
  return {
      .code = Code::kSystem, .reason = Reason::kSystemCall, .message = what + ": " + LastReason()};
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// A client that offers protocols must offer ours; one that offers none speaks it.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  for (unsigned int at = 0; at < offered_size; at += offered[at] + 1U) {
    std::string_view name(reinterpret_cast<const char*>(offered + at + 1), offered[at]);
    if (name != kHttp) continue;
    *chosen = offered + at + 1;
    *size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void FreeHost(void*, void* host, CRYPTO_EX_DATA*, int, long, void*) { OPENSSL_free(host); }

// Where an SSL keeps the host that its client has to ask for.
int HostIndex() {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeHost);
  return kIndex;
}

// The proxy has compared the names already; that it read them as OpenSSL does is
// not taken on trust.
int CheckName(SSL* ssl, int* alert, void*) {
  const auto* host = static_cast<const char*>(SSL_get_ex_data(ssl, HostIndex()));
  const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (host == nullptr || IsAddress(host)) return SSL_TLSEXT_ERR_OK;
  if (asked != nullptr && strcasecmp(asked, host) == 0) return SSL_TLSEXT_ERR_OK;
  *alert = SSL_AD_UNRECOGNIZED_NAME;
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

ContextPtr NewContext(const SSL_METHOD* method) {
  ContextPtr context(SSL_CTX_new(method));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) return nullptr;
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

ContextPtr ServerContext() {
  ContextPtr context = NewContext(TLS_server_method());
  if (!context) return nullptr;
  // A client that goes away without a close_notify has not cut a request short:
  // HTTP frames those.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  SSL_CTX_set_tlsext_servername_callback(context.get(), CheckName);
  return context;
}

// Every certificate of the text; what is none is passed over, as others do.
bool AddRoots(X509_STORE* store, const std::string& bundle) {
  BioPtr text(BIO_new_mem_buf(bundle.data(), static_cast<int>(bundle.size())));
  bool any = false;
  while (text) {
    CertificatePtr root(PEM_read_bio_X509_AUX(text.get(), nullptr, nullptr, nullptr));
    if (!root) break;
    any = X509_STORE_add_cert(store, root.get()) == 1 || any;
  }
  ERR_clear_error();
  return any;
}

ContextPtr ClientContext(const std::string& bundle) {
  ContextPtr context = NewContext(TLS_client_method());
  if (!context) return nullptr;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // 0 means that it worked, for this function alone.
  if (SSL_CTX_set_alpn_protos(context.get(), kOffered, sizeof kOffered - 1) != 0) return nullptr;
  return AddRoots(SSL_CTX_get_cert_store(context.get()), bundle) ? std::move(context) : nullptr;
}

bool SetHost(SSL* ssl, const std::string& host) {
  char* copy = OPENSSL_strdup(host.c_str());
  if (copy != nullptr && SSL_set_ex_data(ssl, HostIndex(), copy) == 1) return true;
  OPENSSL_free(copy);
  return false;
}

bool ProveToBe(SSL* ssl, const std::string& host) {
  if (IsAddress(host)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  }
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

Result<Endpoints> Endpoints::Make(Authority authority, const std::string& bundle) {
  ContextPtr server = ServerContext();
  if (!server) return Failed("setting up TLS");
  ContextPtr client = ClientContext(bundle);
  if (!client) {
    return Error{.code = Code::kSystem,
                 .reason = Reason::kSetupFailed,
                 .message = "the host's CA bundle has no certificate that can be read"};
  }
  return Endpoints(std::move(authority), std::move(server), std::move(client));
}

Result<SslPtr> Endpoints::Server(const std::string& host) {
  CORDON_ASSIGN_OR_RETURN(X509 * certificate, authority_.CertificateFor(host));
  SslPtr ssl(SSL_new(server_.get()));
  if (!ssl || !SetHost(ssl.get(), host) || SSL_use_certificate(ssl.get(), certificate) != 1 ||
      SSL_use_PrivateKey(ssl.get(), authority_.leaf_key()) != 1 ||
      SSL_add1_chain_cert(ssl.get(), authority_.certificate()) != 1) {
    return Failed("a connection to the client");
  }
  SSL_set_accept_state(ssl.get());
  return ssl;
}

Result<SslPtr> Endpoints::Client(const std::string& host) {
  SslPtr ssl(SSL_new(client_.get()));
  if (!ssl || !ProveToBe(ssl.get(), host)) return Failed("a connection to " + host);
  SSL_set_connect_state(ssl.get());
  return ssl;
}

}  // namespace cordon::tls
