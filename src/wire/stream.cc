#include "wire/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/exhausted.h"
#include "base/real_runtime.h"
#include "wire/connect.h"
#include "wire/resolve.h"

namespace holdfast::internal {

namespace {

Task<Result<std::vector<Address>>> addresses_of(Runtime& runtime, const Endpoint& endpoint,
                                                Deadline deadline) {
  std::vector<Address> addresses;
  if (!endpoint.unix_path.empty()) {
    const std::optional<Address> path = Address::of_path(endpoint.unix_path);
    if (!path) {
      co_return Failure(Code::invalid_argument, "the socket's path is longer than 107 bytes");
    }
    addresses.push_back(*path);
    co_return addresses;
  }
  const Result<std::vector<std::string>> numbers =
      co_await resolve(runtime, endpoint.host, deadline);
  if (!numbers) co_return numbers.failure();
  for (const std::string& number : *numbers) {
    if (const auto address = Address::of_number(number, endpoint.port)) {
      addresses.push_back(*address);
    }
  }
  co_return addresses;
}

}  // namespace

// Kept alive by what runs in it: the listener may destroy the stream.
class Stream::State final : public std::enable_shared_from_this<State>,
                            private Runnable,
                            private Reactor::Handler,
                            private Lookout {
 public:
  State(RealRuntime& runtime, StreamListener& listener)
      : runtime_(runtime), listener_(&listener), moved_(runtime) {}

  // From here on bytes are read.
  void begin(Descriptor socket, int family);
  Task<Result<void>> shake_hands(std::shared_ptr<const TlsContext> tls, const std::string& host,
                                 Deadline deadline);
  // From here on the listener hears of everything.
  void start();
  void send(std::string_view bytes);
  void close();

 private:
  void on_readable() override { look(); }
  void on_writable() override;
  bool take_bytes();
  void on_received(std::string_view bytes);
  void end(const std::string& why);
  void send_raw(std::string_view bytes);
  void run() override;  // writes what was sent
  bool expecting() const override { return started_ && listener_ && listener_->expects_answer(); }
  bool look() override;

  static constexpr std::size_t kEnough = 1024;  // bytes that are worth a system call

  RealRuntime& runtime_;
  StreamListener* listener_;  // null once the stream has ended
  Descriptor socket_;
  std::optional<Reactor::Registration> watch_;  // ends before the socket is closed
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

void Stream::State::begin(Descriptor socket, int family) {
  socket_ = std::move(socket);
  if (family != AF_UNIX) {
    const int yes = 1;
    setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket_.number(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  }
  watch_.emplace(runtime_.reactor(), socket_.number(), static_cast<Reactor::Handler&>(*this),
                 Reactor::Interest{.read = true});
  open_ = true;
  runtime_.add_lookout(*this);
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
    runtime_.remove_lookout(*this);
    watch_.reset();
    socket_.reset();
    moved_.set();
  }
  if (!started_) return;
  if (StreamListener* listener = std::exchange(listener_, nullptr)) listener->on_closed(why);
}

bool Stream::State::look() {
  const auto keep = shared_from_this();
  try {
    return take_bytes();
  } catch (const std::exception& problem) {
    // The bytes that were being read are lost, and with them the meaning of those that follow.
    end(problem.what());
    return true;
  }
}

bool Stream::State::take_bytes() {
  bool any = false;
  while (open_) {
    const ssize_t size = ::recv(socket_.number(), incoming_.data(), incoming_.size(), 0);
    if (size == 0) {
      end("the server closed the connection");
    } else if (size < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        end(describe_error(errno));
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
  const ssize_t size = ::send(socket_.number(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
  // Any error but "not now" shows in the read as well.
  if (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return;
  if (size > 0) outgoing_.erase(0, static_cast<std::size_t>(size));
  if (outgoing_.empty()) return;
  blocked_ = true;
  watch_->set({.read = true, .write = true});
}

void Stream::State::on_writable() {
  blocked_ = false;
  watch_->set({.read = true});
  run();
}

Task<Result<std::unique_ptr<Stream>>> Stream::connect(Runtime& runtime, Endpoint endpoint,
                                                      std::shared_ptr<const TlsContext> tls,
                                                      StreamListener& listener, Deadline deadline) {
  auto& real = static_cast<RealRuntime&>(runtime);
  Result<std::vector<Address>> found = co_await addresses_of(real, endpoint, deadline);
  if (!found) co_return found.failure();
  std::vector<Address> addresses = std::move(found).value();
  Result<void> tried = Failure(Code::unreachable, "it has no address");
  while (!addresses.empty()) {
    // An exception is for the caller as good as an address that does not answer.
    Result<Connected> connected = co_await contained(connect_to_any(real, addresses, deadline));
    if (!connected)
      co_return tried.code() == Code::misconfigured ? tried.failure() : connected.failure();
    const auto which = addresses.begin() + static_cast<std::ptrdiff_t>(connected->which);
    // Also closes what was begun when this coroutine is destroyed half-way.
    std::unique_ptr<Stream> stream(new Stream(std::make_shared<State>(real, listener)));
    stream->state_->begin(std::move(connected->socket), which->family());
    tried = Result<void>();
    if (tls) tried = co_await stream->state_->shake_hands(tls, endpoint.host, deadline);
    if (tried) {
      stream->state_->start();
      co_return stream;
    }
    // Its certificate may be wrong, or its TLS switched off, where another address is right.
    addresses.erase(which);
  }
  co_return tried.failure();
}

Stream::~Stream() { state_->close(); }

void Stream::send(std::string_view bytes) { state_->send(bytes); }

}  // namespace holdfast::internal
