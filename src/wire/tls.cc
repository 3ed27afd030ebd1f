#include "wire/tls.h"

#include <array>
#include <new>

#include "base/require.h"
#include "wire/openssl.h"

namespace holdfast::internal {

namespace {

SSL* ssl(void* session) { return static_cast<SSL*>(session); }
BIO* bio(void* buffer) { return static_cast<BIO*>(buffer); }

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsSettings& settings) {
  const Result<const OpenSsl*> loaded = OpenSsl::load();
  if (!loaded) return loaded.failure();
  const OpenSsl& library = **loaded;
  std::shared_ptr<TlsContext> made(new TlsContext(library));
  SSL_CTX* context = library.SSL_CTX_new(library.TLS_client_method());
  if (!context) throw std::bad_alloc();
  made->context_ = context;
  library.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  const auto unusable = [&](const std::string& what, const std::string& file) {
    return Failure(Code::misconfigured,
                   what + " '" + file + "' cannot be used: " + library.last_error());
  };
  if (settings.ca_file.empty()) {
    library.SSL_CTX_set_default_verify_paths(context);
  } else if (library.SSL_CTX_load_verify_locations(context, settings.ca_file.c_str(), nullptr) !=
             1) {
    return unusable("the file of authorities", settings.ca_file);
  }
  if (!settings.certificate_file.empty()) {
    const std::string& key =
        settings.key_file.empty() ? settings.certificate_file : settings.key_file;
    if (library.SSL_CTX_use_certificate_chain_file(context, settings.certificate_file.c_str()) !=
        1) {
      return unusable("the certificate", settings.certificate_file);
    }
    if (library.SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        library.SSL_CTX_check_private_key(context) != 1) {
      return unusable("the key", key);
    }
  }
  if (!settings.protocol.empty()) {
    const std::string offer = static_cast<char>(settings.protocol.size()) + settings.protocol;
    library.SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(offer.data()),
                                    static_cast<unsigned>(offer.size()));
  }
  library.SSL_CTX_set_verify(context, settings.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return std::shared_ptr<const TlsContext>(std::move(made));
}

TlsContext::~TlsContext() {
  if (context_) library_.SSL_CTX_free(static_cast<SSL_CTX*>(context_));
}

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, const std::string& host)
    : context_(std::move(context)),
      library_(context_->library_),
      session_(library_.SSL_new(static_cast<SSL_CTX*>(context_->context_))),
      from_server_(library_.BIO_new(library_.BIO_s_mem())),
      to_server_(library_.BIO_new(library_.BIO_s_mem())) {
  if (!session_ || !from_server_ || !to_server_) throw std::bad_alloc();
  library_.SSL_set_bio(ssl(session_), bio(from_server_), bio(to_server_));
  library_.SSL_set_connect_state(ssl(session_));
  // An address is checked as an address, and is not sent as a name.
  if (library_.X509_VERIFY_PARAM_set1_ip_asc(library_.SSL_get0_param(ssl(session_)),
                                             host.c_str()) != 1) {
    library_.ERR_clear_error();
    library_.SSL_set1_host(ssl(session_), host.c_str());
    library_.SSL_ctrl(ssl(session_), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                      const_cast<char*>(host.c_str()));
  }
}

TlsSession::~TlsSession() { library_.SSL_free(ssl(session_)); }

void TlsSession::fail(int result) {
  const int error = library_.SSL_get_error(ssl(session_), result);
  const long verified = library_.SSL_get_verify_result(ssl(session_));
  if (verified != X509_V_OK) {
    problem_ = std::string("the server's certificate is not trusted: ") +
               library_.X509_verify_cert_error_string(verified);
    library_.ERR_clear_error();
  } else if (error == SSL_ERROR_ZERO_RETURN) {
    problem_ = "the server closed the connection";
  } else {
    problem_ = "TLS: " + library_.last_error();
  }
}

bool TlsSession::advance() {
  if (ready_) return true;
  const int result = library_.SSL_do_handshake(ssl(session_));
  if (result == 1) {
    ready_ = true;
  } else if (library_.SSL_get_error(ssl(session_), result) != SSL_ERROR_WANT_READ) {
    fail(result);
    return false;
  }
  return true;
}

bool TlsSession::receive(std::string_view encrypted, std::string& plain) {
  if (!problem_.empty()) return false;
  library_.ERR_clear_error();
  // A memory BIO takes everything.
  library_.BIO_write(bio(from_server_), encrypted.data(), static_cast<int>(encrypted.size()));
  if (!advance()) return false;
  if (!ready_) return true;
  std::array<char, 16384> buffer;
  for (;;) {
    const int size =
        library_.SSL_read(ssl(session_), buffer.data(), static_cast<int>(buffer.size()));
    if (size > 0) {
      plain.append(buffer.data(), static_cast<std::size_t>(size));
      continue;
    }
    if (library_.SSL_get_error(ssl(session_), size) == SSL_ERROR_WANT_READ) return true;
    fail(size);
    return false;
  }
}

void TlsSession::encrypt(std::string_view plain) {
  HOLDFAST_REQUIRE(ready());
  while (!plain.empty()) {
    const int size =
        library_.SSL_write(ssl(session_), plain.data(),
                           static_cast<int>(std::min<std::size_t>(plain.size(), 1 << 20)));
    if (size <= 0) {
      fail(size);
      return;
    }
    plain.remove_prefix(static_cast<std::size_t>(size));
  }
}

std::string TlsSession::to_send() {
  std::string bytes(library_.BIO_ctrl_pending(bio(to_server_)), '\0');
  if (!bytes.empty()) {
    library_.BIO_read(bio(to_server_), bytes.data(), static_cast<int>(bytes.size()));
  }
  return bytes;
}

}  // namespace holdfast::internal
