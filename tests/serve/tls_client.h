// TlsClient: one TLS connection to a daemon, that trusts one authority.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "http_client.h"

namespace holdfast::test {

class TlsClient {
 public:
  TlsClient(int port, const std::string& authority)
      : client_(port),
        context_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free),
        tls_(nullptr, &SSL_free) {
    SSL_CTX_load_verify_locations(context_.get(), authority.c_str(), nullptr);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    tls_.reset(SSL_new(context_.get()));
    SSL_set_fd(tls_.get(), client_.descriptor());
    connected_ = SSL_connect(tls_.get()) == 1;
  }

  // Of the daemon's certificate; empty if it is not trusted.
  std::string subject() const {
    if (!connected_) return {};
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        SSL_get1_peer_certificate(tls_.get()), &X509_free);
    char text[256] = {};
    X509_NAME_oneline(X509_get_subject_name(certificate.get()), text, sizeof text);
    return text;
  }

  // The status, and all that comes until the end as the body.
  Answer ask(Ask ask) {
    ask.headers["Connection"] = "close";
    const std::string text = request_text(ask);
    if (!connected_ || SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())) <= 0)
      return {};
    Answer answer;
    char bytes[4096];
    for (int count = 0; (count = SSL_read(tls_.get(), bytes, sizeof bytes)) > 0;)
      answer.body.append(bytes, static_cast<std::size_t>(count));
    if (answer.body.size() > 12) answer.status = std::atoi(answer.body.substr(9, 3).c_str());
    return answer;
  }

 private:
  HttpClient client_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
  bool connected_ = false;
};

}  // namespace holdfast::test
