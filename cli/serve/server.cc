#include "serve/server.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>

namespace holdfast::cli::serve {
namespace {

using boost::system::error_code;
using net::ip::tcp;
using net::local::stream_protocol;

// A peer that is gone without a word is noticed after so long: what is written to it is not acknowledged.
constexpr int kSilentPeerMs = 20'000;

void set_socket_options(Socket& socket) {
  const int on = 1;
  const int silent = kSilentPeerMs;
  const int fd = socket.native_handle();
  // On a unix socket they do nothing, and are not needed.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, 18 /* TCP_USER_TIMEOUT */, &silent, sizeof silent);
}

// The engines need descriptors, too.
std::size_t most_connections() {
  constexpr rlim_t kReserve = 128;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return kMaxConnections;
  const rlim_t room =
      limit.rlim_cur > 2 * kReserve ? limit.rlim_cur - kReserve : limit.rlim_cur / 2;
  return std::min<std::size_t>(kMaxConnections, room);
}

bool expired(SSL_CTX* context) {
  const X509* certificate = SSL_CTX_get0_certificate(context);
  return certificate && X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
}

Failure misconfigured(std::string message) {
  return Failure(Code::misconfigured, std::move(message));
}

}  // namespace

Server::Server(net::io_context& context, const Settings& settings, Handler& handler)
    : context_(context),
      settings_(settings),
      handler_(handler),
      tcp_(context),
      unix_(context),
      signals_(context),
      pause_(context),
      most_(most_connections()) {}

Server::~Server() {
  if (bound_) unlink(settings_.listen.path.c_str());
}

Result<void> Server::load_certificate() {
  auto context = std::make_shared<net::ssl::context>(net::ssl::context::tls_server);
  error_code error;
  context->set_options(net::ssl::context::default_workarounds | net::ssl::context::no_sslv3 |
                       net::ssl::context::no_tlsv1 | net::ssl::context::no_tlsv1_1);
  SSL_CTX_set_mode(context->native_handle(),
                   SSL_MODE_RELEASE_BUFFERS);  // while a connection is idle
  context->use_certificate_chain_file(settings_.tls_cert, error);
  if (error)
    return misconfigured("cannot use the certificate " + settings_.tls_cert + ": " +
                         error.message());
  context->use_private_key_file(settings_.tls_key, net::ssl::context::pem, error);
  if (error) {
    return misconfigured("cannot use the key " + settings_.tls_key + " with the certificate " +
                         settings_.tls_cert + ": " + error.message());
  }
  if (expired(context->native_handle())) {
    return misconfigured("the certificate " + settings_.tls_cert +
                         " has expired: clients would refuse it; renew it");
  }
  tls_ = std::move(context);
  return {};
}

Result<void> Server::listen_tcp() {
  const Listen& where = settings_.listen;
  error_code error;
  const tcp::endpoint endpoint(net::ip::make_address(where.host, error), where.port);
  if (!error) tcp_.open(endpoint.protocol(), error);
  if (!error) tcp_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) tcp_.bind(endpoint, error);
  if (!error) tcp_.listen(SOMAXCONN, error);
  if (error) {
    return misconfigured(
        "cannot listen on " + where.host + " port " + std::to_string(where.port) + ": " +
        error.message() +
        (error == net::error::address_in_use ? "; choose another with --listen" : ""));
  }
  return {};
}

Result<void> Server::listen_unix() {
  const std::string& path = settings_.listen.path;
  error_code error;
  stream_protocol::socket probe(context_);
  probe.open(stream_protocol(), error);
  probe.non_blocking(true, error);  // Else one that accepts nobody would hold us up.
  probe.connect(stream_protocol::endpoint(path), error);
  if (!error) return misconfigured("another process listens on the unix socket " + path);
  struct stat file{};
  const bool there = lstat(path.c_str(), &file) == 0;
  if (there && !S_ISSOCK(file.st_mode))
    return misconfigured(path + " is there already, and is no socket");
  // Of a daemon that was killed. (If we may not connect, it is not ours to remove.)
  if (there && error == net::error::connection_refused) unlink(path.c_str());
  error = {};
  const mode_t before = umask(0177);
  unix_.open(stream_protocol(), error);
  if (!error) unix_.bind(stream_protocol::endpoint(path), error);
  umask(before);
  bound_ = !error;
  if (!error) unix_.listen(SOMAXCONN, error);
  if (error)
    return misconfigured("cannot listen on the unix socket " + path + ": " + error.message());
  return {};
}

Result<void> Server::listen() {
  if (settings_.tls()) {
    if (Result<void> loaded = load_certificate(); !loaded) return loaded;
  }
  return settings_.listen.is_unix() ? listen_unix() : listen_tcp();
}

std::string Server::address() const {
  if (settings_.listen.is_unix()) return "unix:" + settings_.listen.path;
  const tcp::endpoint endpoint = tcp_.local_endpoint();
  const std::string host = endpoint.address().is_v6() ? '[' + endpoint.address().to_string() + ']'
                                                      : endpoint.address().to_string();
  return (settings_.tls() ? "https://" : "http://") + host + ':' + std::to_string(endpoint.port());
}

Awaitable<void> Server::serve(Socket socket) {
  set_socket_options(socket);
  const auto channel =
      tls_ ? tls_channel(std::move(socket), *tls_) : clear_channel(std::move(socket));
  const auto keep = tls_;  // SIGHUP replaces it
  const auto connection = std::make_shared<Connection>(context_, channel, handler_);
  connections_.insert(connection);
  try {
    co_await connection->run();
  } catch (const std::exception&) {  // No memory: this connection ends, the others go on.
    channel->close();
  }
  connections_.erase(connection);
}

template <class Acceptor>
Awaitable<void> Server::accept(Acceptor& acceptor) {
  while (acceptor.is_open()) {
    error_code error;
    auto accepted = co_await acceptor.async_accept(net::redirect_error(net::use_awaitable, error));
    if (!acceptor.is_open()) co_return;
    const bool full = error || connections_.size() >= most_;
    const bool room = !full || make_room();
    try {
      if (!error && room)
        net::co_spawn(context_, serve(Socket(std::move(accepted))), net::detached);
    } catch (const std::bad_alloc&) {  // The next one may fit.
    }
    if (!error && room) continue;
    // No descriptor left, or too many that are all in use. Others wait in the kernel's queue.
    if (!error) accepted.close(error);
    pause_.expires_after(std::chrono::milliseconds(50));
    co_await pause_.async_wait(net::redirect_error(net::use_awaitable, error));
  }
}

bool Server::make_room() {
  auto next = connections_.upper_bound(made_room_);
  for (std::size_t looked = 0; looked < connections_.size(); ++looked, ++next) {
    if (next == connections_.end()) next = connections_.begin();
    if (!(*next)->idle()) continue;
    made_room_ = *next;
    made_room_->stop();
    return true;
  }
  return false;
}

void Server::stop(int) {
  error_code ignored;
  tcp_.close(ignored);
  unix_.close(ignored);
  on_stop_();
  for (const auto& connection : connections_) connection->stop();
}

Awaitable<void> Server::wait_for_signals() {
  for (;;) {
    error_code error;
    const int signal = co_await signals_.async_wait(net::redirect_error(net::use_awaitable, error));
    if (error) co_return;
    if (signal == SIGHUP) {
      if (!settings_.tls()) continue;
      // If the new one is no good, that is said, and the old one goes on.
      if (Result<void> loaded = load_certificate(); !loaded) {
        std::fprintf(stderr, "holdfast: %s\n", for_terminal(loaded.message()).c_str());
      }
      continue;
    }
    stop(signal);
    break;
  }
  // Answers and releases are on their way: until the last connection has ended, but not for long.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (!(connections_.empty() && at_rest_()) && std::chrono::steady_clock::now() < until) {
    pause_.expires_after(std::chrono::milliseconds(10));
    error_code ignored;
    co_await pause_.async_wait(net::redirect_error(net::use_awaitable, ignored));
  }
  context_.stop();
}

void Server::start(std::function<void()> on_stop, std::function<bool()> at_rest) {
  on_stop_ = std::move(on_stop);
  at_rest_ = std::move(at_rest);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.add(signal);
  net::co_spawn(context_, wait_for_signals(), net::detached);
  if (settings_.listen.is_unix()) {
    net::co_spawn(context_, accept(unix_), net::detached);
  } else {
    net::co_spawn(context_, accept(tcp_), net::detached);
  }
}

}  // namespace holdfast::cli::serve
