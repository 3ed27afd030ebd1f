#include "serve/connection.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>

#include "serve/settings.h"

namespace holdfast::cli::serve {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// The parser takes a header as a whole.
constexpr std::chrono::seconds kGoodbyeTime{1};
constexpr std::size_t kMaxAhead = kMaxHeaderBytes + 1024;

std::optional<Problem> problem_of(const error_code& error) {
  if (error == http::error::body_limit) {
    return Problem{413, "too_large",
                   "the body has more than " + std::to_string(kMaxBodyBytes) + " bytes"};
  }
  if (error == http::error::header_limit) {
    return Problem{431, "too_large",
                   "the header has more than " + std::to_string(kMaxHeaderBytes) + " bytes"};
  }
  if (error == http::error::bad_version)
    return Problem{505, "unsupported", "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  return Problem{400, "invalid_argument", "this is no HTTP request: " + error.message()};
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& each : result) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return result;
}

// Browsers are told to trust nothing but the page's own files.
constexpr const char* kSafeHeaders =
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
    "'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n";

std::string head_of(const Response& response, bool keep) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + ' ' +
                     reason_of(response.status) + "\r\nContent-Type: " + response.content_type +
                     "\r\n" + kSafeHeaders;
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  head += keep ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return head;
}

// Requests that are well-formed, but mean different things to different readers, or ask for what is not there.
template <class Message>
std::optional<Problem> problem_of(const Message& message) {
  const auto coding = message.find(http::field::transfer_encoding);
  if (coding != message.end() &&
      (lower(std::string_view(coding->value().data(), coding->value().size())) != "chunked" ||
       message.count(http::field::transfer_encoding) > 1)) {
    return Problem{501, "unsupported", "no Transfer-Encoding but chunked is understood here"};
  }
  const auto expected = message.find(http::field::expect);
  if (expected != message.end() &&
      lower(std::string_view(expected->value().data(), expected->value().size())) !=
          "100-continue") {
    return Problem{417, "unsupported", "nothing can be expected here but 100-continue"};
  }
  return std::nullopt;
}

template <class Message>
Request to_request(Message& message, std::stop_token gone) {
  Request request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.received = BootClock::now();
  request.gone = std::move(gone);
  for (const auto& field : message) {
    auto [at, first] = request.headers.try_emplace(
        lower(std::string_view(field.name_string().data(), field.name_string().size())),
        field.value().data(), field.value().size());
    // Which of two values is meant, different readers answer differently.
    if (!first) at->second += ", " + std::string(field.value());
  }
  request.body = std::move(message.body());
  return request;
}

}  // namespace

Connection::Connection(net::io_context& context, std::shared_ptr<Channel> channel, Handler& handler)
    : channel_(std::move(channel)), handler_(handler), signal_(context), limit_(context) {}

void Connection::receive() {
  if (receiving_ || ended_ || inbox_.size() > kMaxAhead) return;
  receiving_ = true;
  channel_->receive([self = shared_from_this()](std::string_view bytes) { self->received(bytes); });
}

void Connection::received(std::string_view bytes) {
  receiving_ = false;
  inbox_ += bytes;
  signal_.cancel();
  if (bytes.empty()) {
    ended_ = true;
    gone_.request_stop();
    return;
  }
  receive();
}

// False: none came by then, or none will come.
Awaitable<bool> Connection::more(Clock::time_point until) {
  const std::size_t had = inbox_.size();
  receive();
  while (!ended_ && !stopping_ && inbox_.size() == had) {
    signal_.expires_at(until);
    error_code error;
    co_await signal_.async_wait(net::redirect_error(net::use_awaitable, error));
    if (!error) co_return false;
  }
  co_return inbox_.size() > had;
}

void Connection::stop() {
  stopping_ = true;
  gone_.request_stop();
  signal_.cancel();
}

// True: something was read, or there is a problem.
bool Connection::feed(Parser& parser, std::optional<Problem>& problem) {
  if (inbox_.empty()) return false;
  error_code error;
  const std::size_t used = parser.put(net::buffer(inbox_), error);
  inbox_.erase(0, used);
  if (error == http::error::need_more) error = {};
  if (error) problem = problem_of(error);
  return used > 0 || problem;
}

Awaitable<bool> Connection::read(Parser& parser, std::optional<Problem>& problem) {
  parser.eager(true);
  parser.body_limit(kMaxBodyBytes);
  parser.header_limit(kMaxHeaderBytes);
  idle_ = inbox_.empty();
  const bool begun = !idle_ || co_await more(Clock::now() + kIdle);
  idle_ = false;
  if (!begun) co_return false;
  const Clock::time_point until = Clock::now() + kRequestTime;
  bool continued = false;
  while (!parser.is_done()) {
    const bool fed = feed(parser, problem);
    if (problem) co_return false;
    if (parser.is_header_done() && !continued) {
      continued = true;
      problem = problem_of(parser.get());
      if (problem) co_return false;
      const bool waits = !parser.is_done() && parser.get().count(http::field::expect) > 0;
      if (waits && !co_await write_text("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
    }
    if (fed) continue;
    if (co_await more(until)) continue;
    if (!ended_ && !stopping_)
      problem = Problem{408, "timeout", "the request did not come as a whole in time"};
    co_return false;
  }
  co_return true;
}

void Connection::limit(Clock::duration time) {
  limit_.expires_after(time);
  limit_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->channel_->close();
  });
}

Awaitable<bool> Connection::write_text(std::string text) {
  limit(kWriteTime);
  const bool written = co_await channel_->send(std::move(text));
  limit_.cancel();
  if (!written) {
    ended_ = true;
    gone_.request_stop();
  }
  co_return written;
}

Awaitable<bool> Connection::send(std::string text) {
  if (ended_ || stopping_) co_return false;
  if (chunked_) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    text.insert(0, size);
    text += "\r\n";
  }
  co_return co_await write_text(std::move(text));
}

Awaitable<bool> Connection::stream(const Response& response, std::string head) {
  head += chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
  const bool begun = co_await write_text(std::move(head));
  if (!begun) co_return false;
  Awaitable<void> events = response.stream(*this);
  co_await std::move(events);
  static_cast<void>(co_await goodbye());
  co_return false;  // closed, so that a reader sees the end in any case
}

Awaitable<bool> Connection::goodbye() {
  if (over_ || ended_) co_return channel_->peer_left();
  over_ = true;
  if (chunked_) {
    std::string end = "0\r\n\r\n";
    static_cast<void>(co_await write_text(std::move(end)));
  }
  limit(kGoodbyeTime);
  co_await channel_->finish();
  limit_.cancel();
  for (const Clock::time_point until = Clock::now() + kGoodbyeTime; !ended_;) {
    receive();
    inbox_.clear();  // nothing of this connection is a request any more
    signal_.expires_at(until);
    error_code cancelled;
    co_await signal_.async_wait(net::redirect_error(net::use_awaitable, cancelled));
    if (!cancelled) break;
  }
  co_return channel_->peer_left();
}

Awaitable<bool> Connection::write(Response response, bool head_only, bool keep) {
  if (response.stream && !head_only) {
    const bool again = co_await stream(response, head_of(response, false));
    if (response.written) response.written(!ended_);
    co_return again;
  }
  std::string text = head_of(response, keep);
  text += "Content-Length: " + std::to_string(response.body.size()) + "\r\n\r\n";
  if (!head_only) text += response.body;
  const bool written = co_await write_text(std::move(text));
  if (response.written) response.written(written);
  co_return written&& keep;
}

// What the peer still sends is read for a moment: closed before that, the connection would be reset, and the
// answer with it.
Awaitable<void> Connection::refuse_and_drain(const Problem& problem) {
  co_await write(response_to(problem), false, false);
  const Clock::time_point until = Clock::now() + std::chrono::seconds(1);
  for (std::size_t drained = 0; drained < (std::size_t{16} << 20);) {
    drained += inbox_.size();
    inbox_.clear();
    if (!co_await more(until)) break;
  }
}

Awaitable<std::optional<Connection::Received>> Connection::next() {
  Parser parser;
  std::optional<Problem> problem;
  if (!co_await read(parser, problem)) {
    if (problem) co_await refuse_and_drain(*problem);
    co_return std::nullopt;
  }
  auto message = parser.release();
  gone_ = std::stop_source();
  if (ended_ || stopping_) gone_.request_stop();
  chunked_ = message.version() >= 11;
  Received received;
  received.keep = message.keep_alive() && !stopping_;
  received.head_only = message.method() == http::verb::head;
  received.request = to_request(message, gone_.get_token());
  co_return received;
}

Awaitable<bool> Connection::serve_one() {
  std::optional<Received> received = co_await next();
  if (!received) co_return false;
  receive();  // hears that the peer has gone
  Response response = co_await handler_.answer(std::move(received->request));
  co_return co_await write(std::move(response), received->head_only, received->keep);
}

// Within a bound: a peer that does not answer the goodbye must not keep the connection.
Awaitable<void> Connection::finish() {
  limit(std::chrono::seconds(2));
  co_await channel_->finish();
  limit_.cancel();
  channel_->close();
}

Awaitable<bool> Connection::shake_hands() {
  limit(kRequestTime);
  const bool done = co_await channel_->handshake();
  limit_.cancel();
  co_return done;
}

Awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  if (co_await shake_hands()) {
    while (!stopping_ && co_await serve_one()) {
    }
    co_await finish();
  }
  channel_->close();
}

}  // namespace holdfast::cli::serve
