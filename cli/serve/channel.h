// Channel: the bytes of one connection, over TCP or a unix socket, in clear or over TLS.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "serve/http.h"

namespace holdfast::cli::serve {

using Socket = net::generic::stream_protocol::socket;

class Channel {
 public:
  virtual ~Channel() = default;

  virtual Awaitable<bool> handshake() = 0;
  // Calls back once, with the bytes that came next; with none if the peer has ended or the connection is broken. One
  // at a time. A connection in clear holds no buffer while it waits.
  virtual void receive(std::function<void(std::string_view)> done) = 0;
  // All of it, or false.
  virtual Awaitable<bool> send(std::string text) = 0;
  // Says goodbye, as TLS wants it.
  virtual Awaitable<void> finish() = 0;
  // The first that was heard of the end was that the peer had closed its side, not that it was silent.
  virtual bool peer_left() const = 0;
  // Ends whatever is under way.
  virtual void close() = 0;
};

std::shared_ptr<Channel> clear_channel(Socket socket);
std::shared_ptr<Channel> tls_channel(Socket socket, net::ssl::context& context);

}  // namespace holdfast::cli::serve
