// OpenSSL, loaded when the first TLS connection is made and not before: linking it would cost
// every start of the command more than taking a lock does. The functions have their usual names,
// as members of `OpenSsl`.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "holdfast/result.h"

// name: all that we call.
#define HOLDFAST_OPENSSL_FUNCTIONS(X)   \
  X(TLS_client_method)                  \
  X(SSL_CTX_new)                        \
  X(SSL_CTX_free)                       \
  X(SSL_CTX_ctrl)                       \
  X(SSL_CTX_set_default_verify_paths)   \
  X(SSL_CTX_load_verify_locations)      \
  X(SSL_CTX_use_certificate_chain_file) \
  X(SSL_CTX_use_PrivateKey_file)        \
  X(SSL_CTX_check_private_key)          \
  X(SSL_CTX_set_verify)                 \
  X(SSL_CTX_set_alpn_protos)            \
  X(SSL_new)                            \
  X(SSL_free)                           \
  X(SSL_set_bio)                        \
  X(SSL_set_connect_state)              \
  X(SSL_set1_host)                      \
  X(SSL_get0_param)                     \
  X(SSL_ctrl)                           \
  X(SSL_do_handshake)                   \
  X(SSL_read)                           \
  X(SSL_write)                          \
  X(SSL_get_error)                      \
  X(SSL_get_verify_result)              \
  X(X509_VERIFY_PARAM_set1_ip_asc)      \
  X(X509_verify_cert_error_string)      \
  X(BIO_new)                            \
  X(BIO_s_mem)                          \
  X(BIO_read)                           \
  X(BIO_write) X(BIO_ctrl_pending) X(ERR_get_error) X(ERR_error_string_n) X(ERR_clear_error)

namespace holdfast::internal {

struct OpenSsl {
#define HOLDFAST_DECLARE(name) decltype(&::name) name = nullptr;
  HOLDFAST_OPENSSL_FUNCTIONS(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

  // misconfigured, with what to install, if it is not there. Thread-safe.
  static Result<const OpenSsl*> load();

  // The newest error, in words, and forgets the rest.
  std::string last_error() const;
};

}  // namespace holdfast::internal
