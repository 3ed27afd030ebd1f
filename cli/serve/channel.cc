#include "serve/channel.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <vector>

namespace holdfast::cli::serve {
namespace {

using boost::system::error_code;

// How a connection ended, by the first error: the kernel tells once that the peer is silent, and then calls it closed.
class End {
 public:
  void note(const error_code& error) {
    if (!error || known_) return;
    known_ = true;
    for (const error_code& closed :
         {error_code(net::error::eof), error_code(net::error::connection_reset),
          error_code(net::error::broken_pipe), error_code(net::ssl::error::stream_truncated)}) {
      peer_left_ = peer_left_ || error == closed;
    }
  }
  bool peer_left() const { return peer_left_; }

 private:
  bool known_ = false;
  bool peer_left_ = false;
};

class ClearChannel final : public Channel, public std::enable_shared_from_this<ClearChannel> {
 public:
  explicit ClearChannel(Socket socket) : socket_(std::move(socket)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  Awaitable<bool> handshake() override { co_return true; }

  void receive(std::function<void(std::string_view)> done) override {
    socket_.async_wait(Socket::wait_read,
                       [self = shared_from_this(), done = std::move(done)](error_code error) {
                         self->end_.note(error);
                         if (error) return done({});
                         self->read_now(done);
                       });
  }

  Awaitable<bool> send(std::string text) override {
    error_code error;
    co_await net::async_write(socket_, net::buffer(text),
                              net::redirect_error(net::use_awaitable, error));
    end_.note(error);
    co_return !error;
  }

  Awaitable<void> finish() override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    co_return;
  }

  bool peer_left() const override { return end_.peer_left(); }

  void close() override {
    end_.note(net::error::operation_aborted);
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void read_now(const std::function<void(std::string_view)>& done) {
    static std::array<char, 16384> bytes;  // one thread, and handed on at once
    error_code error;
    const std::size_t count = socket_.read_some(net::buffer(bytes), error);
    if (error == net::error::would_block) return receive(done);
    end_.note(error);
    done(error ? std::string_view() : std::string_view(bytes.data(), count));
  }

  Socket socket_;
  End end_;
};

class TlsChannel final : public Channel, public std::enable_shared_from_this<TlsChannel> {
 public:
  TlsChannel(Socket socket, net::ssl::context& context) : stream_(std::move(socket), context) {}

  Awaitable<bool> handshake() override {
    error_code error;
    co_await stream_.async_handshake(net::ssl::stream_base::server,
                                     net::redirect_error(net::use_awaitable, error));
    co_return !error;
  }

  void receive(std::function<void(std::string_view)> done) override {
    stream_.async_read_some(
        net::buffer(bytes_),
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t count) {
          self->end_.note(error);
          done(error ? std::string_view() : std::string_view(self->bytes_.data(), count));
        });
  }

  Awaitable<bool> send(std::string text) override {
    error_code error;
    co_await net::async_write(stream_, net::buffer(text),
                              net::redirect_error(net::use_awaitable, error));
    end_.note(error);
    co_return !error;
  }

  Awaitable<void> finish() override {
    error_code ignored;
    co_await stream_.async_shutdown(net::redirect_error(net::use_awaitable, ignored));
  }

  bool peer_left() const override { return end_.peer_left(); }

  void close() override {
    end_.note(net::error::operation_aborted);
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  net::ssl::stream<Socket> stream_;
  std::array<char, 4096> bytes_{};
  End end_;
};

}  // namespace

std::shared_ptr<Channel> clear_channel(Socket socket) {
  return std::make_shared<ClearChannel>(std::move(socket));
}

std::shared_ptr<Channel> tls_channel(Socket socket, net::ssl::context& context) {
  return std::make_shared<TlsChannel>(std::move(socket), context);
}

}  // namespace holdfast::cli::serve
