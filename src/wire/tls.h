// TLS as a filter: plain bytes in, encrypted bytes out, and back. It touches no socket, so the
// stream above it sends and receives as it does without TLS.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::internal {

struct OpenSsl;

struct TlsSettings {
  std::string ca_file;           // empty: the system's own authorities
  std::string certificate_file;  // of the client, with its key
  std::string key_file;
  bool verify = true;
  std::string protocol;  // what is spoken inside (ALPN: "h2"); empty: not said
};

// Shared by all connections of a client.
class TlsContext {
 public:
  // misconfigured, with the file's name, if a file cannot be used.
  static Result<std::shared_ptr<const TlsContext>> make(const TlsSettings& settings);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsSession;
  explicit TlsContext(const OpenSsl& library) : library_(library) {}
  const OpenSsl& library_;
  void* context_ = nullptr;  // SSL_CTX
};

// One connection, as its client.
class TlsSession {
 public:
  // `host` is what the server's certificate must be for: a name or an address.
  TlsSession(std::shared_ptr<const TlsContext> context, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Begins the handshake; to_send() then has the first bytes.
  void start() { advance(); }
  // Bytes from the server; what they mean is appended to `plain`. False if the session is over;
  // problem() then says why.
  bool receive(std::string_view encrypted, std::string& plain);
  // REQUIRES: ready().
  void encrypt(std::string_view plain);
  // Bytes to send to the server now.
  std::string to_send();
  bool ready() const { return ready_; }
  const std::string& problem() const { return problem_; }

 private:
  bool advance();
  void fail(int result);

  std::shared_ptr<const TlsContext> context_;
  const OpenSsl& library_;
  void* session_;      // SSL
  void* from_server_;  // BIO, owned by the session
  void* to_server_;    // BIO, owned by the session
  bool ready_ = false;
  std::string problem_;
};

}  // namespace holdfast::internal
