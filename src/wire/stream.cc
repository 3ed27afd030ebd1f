#include "wire/stream.h"

#include <sys/socket.h>

#include <array>
#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <vector>

#include "base/real_runtime.h"
#include "wire/resolve.h"

namespace holdfast::internal {

namespace {

using Protocol = asio::generic::stream_protocol;
using Address = Protocol::endpoint;

Task<Result<std::vector<Address>>> addresses_of(Runtime& runtime, const Endpoint& endpoint,
                                                Deadline deadline) {
  std::vector<Address> addresses;
  if (!endpoint.unix_path.empty()) {
    // sockaddr_un has room for 107 bytes.
    if (endpoint.unix_path.size() > 107) {
      co_return Failure(Code::invalid_argument, "the socket's path is longer than 107 bytes");
    }
    addresses.emplace_back(asio::local::stream_protocol::endpoint(endpoint.unix_path));
    co_return addresses;
  }
  const Result<std::vector<std::string>> numbers =
      co_await resolve(runtime, endpoint.host, deadline);
  if (!numbers) co_return numbers.failure();
  for (const std::string& number : *numbers) {
    addresses.emplace_back(asio::ip::tcp::endpoint(asio::ip::make_address(number), endpoint.port));
  }
  co_return addresses;
}

}  // namespace

// Shared with completion handlers, which can come after the stream was destroyed.
class Stream::State final : public std::enable_shared_from_this<State>,
                            private Runnable,
                            private Lookout {
 public:
  State(RealRuntime& runtime, StreamListener& listener)
      : runtime_(runtime), listener_(&listener), socket_(*runtime.io()), moved_(runtime) {}

  Task<Result<void>> connect(const Address& address, Deadline deadline);
  Task<Result<void>> shake_hands(std::shared_ptr<const TlsContext> tls, const std::string& host,
                                 Deadline deadline);
  // From here on the listener hears of everything.
  void start();
  void send(std::string_view bytes);
  void close();

 private:
  void read();
  void on_received(std::string_view bytes);
  void end(const std::string& why);
  void send_raw(std::string_view bytes);
  void run() override;  // writes what was sent
  bool expecting() const override { return started_ && listener_ && listener_->expects_answer(); }
  bool look() override;
  void write_when_possible();

  static constexpr std::size_t kEnough = 1024;  // bytes that are worth a system call

  RealRuntime& runtime_;
  StreamListener* listener_;  // null once the stream has ended
  Protocol::socket socket_;
  std::unique_ptr<TlsSession> tls_;
  bool open_ = false;
  bool started_ = false;
  bool queued_ = false;   // run() will write
  bool blocked_ = false;  // the socket is full
  Event moved_;           // the handshake got on, or the connection ended
  std::string why_ended_;
  std::string outgoing_;
  std::array<char, 16384> incoming_;
};

Task<Result<void>> Stream::State::connect(const Address& address, Deadline deadline) {
  const auto keep = shared_from_this();
  const auto failed = [](const std::string& why) { return Failure(Code::unreachable, why); };
  // Ours to make: a command that this process runs must not inherit the connection.
  const int descriptor =
      ::socket(address.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) co_return failed(std::generic_category().message(errno));
  std::error_code error;
  socket_.assign(address.protocol(), descriptor, error);
  socket_.non_blocking(true, error);
  struct Outcome {
    explicit Outcome(Runtime& runtime) : done(runtime) {}
    Event done;
    std::error_code error;
  };
  auto outcome = std::make_shared<Outcome>(runtime_);
  runtime_.add_watch();
  socket_.async_connect(address, [keep, outcome](std::error_code result) {
    const RealRuntime::Inside inside(keep->runtime_);
    keep->runtime_.remove_watch();
    outcome->error = result;
    outcome->done.set();
  });
  if (co_await outcome->done.wait(deadline) != Woken::signalled) {
    socket_.close(error);
    co_return failed("no answer in time");
  }
  if (outcome->error) co_return failed(outcome->error.message());
  if (address.protocol().family() != AF_UNIX) {
    socket_.set_option(asio::ip::tcp::no_delay(true), error);
    socket_.set_option(asio::socket_base::keep_alive(true), error);
  }
  open_ = true;
  runtime_.add_watch();
  runtime_.add_lookout(*this);
  read();
  co_return Result<void>();
}

Task<Result<void>> Stream::State::shake_hands(std::shared_ptr<const TlsContext> tls,
                                              const std::string& host, Deadline deadline) {
  const auto keep = shared_from_this();
  tls_ = std::make_unique<TlsSession>(std::move(tls), host);
  tls_->start();
  send_raw(tls_->to_send());
  while (!tls_->ready() && open_) {
    const Woken woken = co_await moved_.wait(deadline);
    moved_.reset();
    if (woken != Woken::signalled) co_return Failure(Code::unreachable, "no TLS handshake in time");
  }
  if (tls_->ready() && open_) co_return Result<void>();
  // A certificate that is refused is refused again: that is for people to mend.
  const bool refused = !tls_->problem().empty();
  co_return Failure(refused ? Code::misconfigured : Code::unreachable,
                    refused ? tls_->problem()
                            : "it ended the TLS handshake (" + why_ended_ +
                                  "); does it speak TLS, and does it ask for a certificate?");
}

void Stream::State::start() {
  started_ = true;
  // It may have ended before anybody listened.
  if (!open_) end(why_ended_);
}

void Stream::State::close() {
  listener_ = nullptr;
  end({});
}

void Stream::State::end(const std::string& why) {
  if (open_) {
    open_ = false;
    why_ended_ = why;
    runtime_.drop(*this);
    runtime_.remove_watch();
    runtime_.remove_lookout(*this);
    std::error_code ignored;
    socket_.close(ignored);
    moved_.set();
  }
  if (!started_) return;
  if (StreamListener* listener = std::exchange(listener_, nullptr)) listener->on_closed(why);
}

void Stream::State::read() {
  // Waits, and does not receive: else bytes could be on their way to us, out of our sight, while
  // look() takes those that come after them.
  socket_.async_wait(Protocol::socket::wait_read,
                     [keep = shared_from_this()](std::error_code error) {
                       const RealRuntime::Inside inside(keep->runtime_);
                       if (!keep->open_) return;
                       if (error) {
                         keep->end(error.message());
                         return;
                       }
                       keep->look();
                       if (keep->open_) keep->read();
                     });
}

bool Stream::State::look() {
  const auto keep = shared_from_this();
  bool any = false;
  while (open_) {
    const ssize_t size = ::recv(socket_.native_handle(), incoming_.data(), incoming_.size(), 0);
    if (size == 0) {
      end("the server closed the connection");
    } else if (size < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        end(std::generic_category().message(errno));
      }
      return any;
    } else {
      any = true;
      const auto taken = static_cast<std::size_t>(size);
      on_received({incoming_.data(), taken});
      if (taken < incoming_.size()) return true;  // There was no more.
    }
  }
  return true;
}

void Stream::State::on_received(std::string_view bytes) {
  if (!tls_) {
    listener_->on_bytes(bytes);
    return;
  }
  std::string plain;
  const bool sound = tls_->receive(bytes, plain);
  send_raw(tls_->to_send());
  moved_.set();
  if (!plain.empty() && listener_) listener_->on_bytes(plain);
  if (!sound && open_) end(tls_->problem());
}

void Stream::State::send(std::string_view bytes) {
  if (!open_) return;
  if (!tls_) {
    send_raw(bytes);
    return;
  }
  tls_->encrypt(bytes);
  send_raw(tls_->to_send());
}

void Stream::State::send_raw(std::string_view bytes) {
  if (!open_ || bytes.empty()) return;
  outgoing_ += bytes;
  if (blocked_) return;
  // After all that is ready now, which may well send, too. But the server need not wait for the last
  // of many: it works while we do.
  if (outgoing_.size() >= kEnough) {
    runtime_.drop(*this);
    run();
  } else if (!queued_) {
    queued_ = true;
    runtime_.defer(*this);
  }
}

void Stream::State::run() {
  queued_ = false;
  if (!open_ || outgoing_.empty()) return;
  std::error_code error;
  const std::size_t size = socket_.send(asio::buffer(outgoing_), 0, error);
  // Any error but "not now" shows in the read as well.
  if (error && error != asio::error::would_block) return;
  outgoing_.erase(0, size);
  if (!outgoing_.empty()) write_when_possible();
}

void Stream::State::write_when_possible() {
  blocked_ = true;
  socket_.async_wait(Protocol::socket::wait_write,
                     [keep = shared_from_this()](std::error_code error) {
                       const RealRuntime::Inside inside(keep->runtime_);
                       keep->blocked_ = false;
                       if (keep->open_ && !error) keep->run();
                     });
}

Task<Result<std::unique_ptr<Stream>>> Stream::connect(Runtime& runtime, Endpoint endpoint,
                                                      std::shared_ptr<const TlsContext> tls,
                                                      StreamListener& listener, Deadline deadline) {
  auto& real = static_cast<RealRuntime&>(runtime);
  const Result<std::vector<Address>> addresses = co_await addresses_of(real, endpoint, deadline);
  if (!addresses) co_return addresses.failure();
  Result<void> tried = Failure(Code::unreachable, "it has no address");
  for (const Address& address : *addresses) {
    // Also closes what was begun when this coroutine is destroyed half-way.
    std::unique_ptr<Stream> stream(new Stream(std::make_shared<State>(real, listener)));
    tried = co_await stream->state_->connect(address, deadline);
    if (tried && tls) tried = co_await stream->state_->shake_hands(tls, endpoint.host, deadline);
    if (tried) {
      stream->state_->start();
      co_return stream;
    }
  }
  co_return tried.failure();
}

Stream::~Stream() { state_->close(); }

void Stream::send(std::string_view bytes) { state_->send(bytes); }

}  // namespace holdfast::internal
