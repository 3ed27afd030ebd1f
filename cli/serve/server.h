// Server: listens, on TCP or a unix socket, in clear or with TLS, and runs until it is told to stop.
//
//   SIGTERM, SIGINT   held requests and streams end, locks bound to them are given back, then the daemon ends
//   SIGHUP            certificate and key are read anew, for the connections that come
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "serve/connection.h"
#include "serve/settings.h"

namespace holdfast::cli::serve {

class Server {
 public:
  Server(net::io_context& context, const Settings& settings, Handler& handler);
  ~Server();

  // Why it cannot listen.
  Result<void> listen();
  // Ends some time after a signal: when nothing is left to do, or this takes too long.
  void start(std::function<void()> on_stop, std::function<bool()> at_rest);
  std::size_t connections() const { return connections_.size(); }
  // Where it listens, for people: the port may have been chosen by the system.
  std::string address() const;

 private:
  Result<void> listen_tcp();
  Result<void> listen_unix();
  Result<void> load_certificate();
  template <class Acceptor>
  Awaitable<void> accept(Acceptor& acceptor);
  Awaitable<void> wait_for_signals();
  Awaitable<void> serve(Socket socket);
  void stop(int signal);
  // Ends one that nobody uses, in turn. False if there is none.
  bool make_room();

  net::io_context& context_;
  const Settings& settings_;
  Handler& handler_;
  net::ip::tcp::acceptor tcp_;
  net::local::stream_protocol::acceptor unix_;
  std::shared_ptr<net::ssl::context> tls_;
  net::signal_set signals_;
  net::steady_timer pause_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::shared_ptr<Connection> made_room_;  // the last one
  const std::size_t most_;
  std::function<void()> on_stop_;
  std::function<bool()> at_rest_;
  bool bound_ = false;  // the unix socket is ours
};

}  // namespace holdfast::cli::serve
