// Connection: reads requests, has them answered, writes the answers; one after the other.
//
//   idle ──first byte──► reading ──whole request──► answering ──► writing ──► idle, or closed
//     │ kIdle              │ kRequestTime             │ peer gone      │ kWriteTime
//     ▼                    ▼                          ▼                ▼
//   closed               408, closed            Request::gone        closed
//
// While a request is answered, the connection goes on reading: so a held request hears that its peer has gone. What a
// peer sends ahead is kept for later, up to a bound.
//
// Beast's parser reads the requests; see http.h for what handlers see.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "serve/channel.h"
#include "serve/problem.h"

namespace holdfast::cli::serve {

class Handler {
 public:
  virtual Awaitable<Response> answer(Request request) = 0;

 protected:
  ~Handler() = default;
};

class Connection final : public EventSink, public std::enable_shared_from_this<Connection> {
 public:
  Connection(net::io_context& context, std::shared_ptr<Channel> channel, Handler& handler);

  // Until it is closed.
  Awaitable<void> run();
  // Ends held requests and streams, and lets answers be written.
  void stop();
  // Nothing of a request has come, and no answer is under way.
  bool idle() const { return idle_ && !stopping_; }

  Awaitable<bool> send(std::string text) override;
  Awaitable<bool> goodbye() override;

 private:
  using Clock = std::chrono::steady_clock;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void receive();
  void received(std::string_view bytes);
  Awaitable<bool> more(Clock::time_point until);
  Awaitable<bool> shake_hands();
  // Null: the connection ended, or `problem` says what is wrong.
  Awaitable<bool> read(Parser& parser, std::optional<Problem>& problem);
  bool feed(Parser& parser, std::optional<Problem>& problem);
  struct Received {
    Request request;
    bool keep = false;
    bool head_only = false;
  };
  // The next request; nothing if the connection is to be closed. What it was parsed with is gone by then: a request
  // may be held for long, with thousands of others.
  Awaitable<std::optional<Received>> next();
  Awaitable<bool> serve_one();
  Awaitable<bool> write(Response response, bool head, bool keep);
  Awaitable<bool> write_text(std::string text);
  Awaitable<bool> stream(const Response& response, std::string head);
  Awaitable<void> refuse_and_drain(const Problem& problem);
  Awaitable<void> finish();
  // Closes the channel if what follows takes longer; limit_.cancel() ends that.
  void limit(Clock::duration time);

  std::shared_ptr<Channel> channel_;
  Handler& handler_;
  net::steady_timer signal_;  // cancelled when bytes came
  net::steady_timer limit_;   // of a write, or another step
  std::string inbox_;
  bool receiving_ = false;
  bool ended_ = false;  // the peer sends no more
  bool stopping_ = false;
  bool idle_ = false;
  bool chunked_ = false;  // the stream that is being written
  bool over_ = false;     // goodbye() was said
  std::stop_source gone_;
};

}  // namespace holdfast::cli::serve
