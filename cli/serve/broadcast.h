// Broadcast: texts for any number of streams. A stream that does not keep up loses what it has not read, and is told to
// begin anew: memory is bounded whatever readers do.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "serve/http.h"

namespace holdfast::cli::serve {

using SharedText = std::shared_ptr<const std::string>;

class Subscriber {
 public:
  explicit Subscriber(net::io_context& context) : timer_(context) {}

  void push(SharedText text);
  void wake() { timer_.cancel(); }

 private:
  friend class Broadcast;
  std::deque<SharedText> texts_;
  std::size_t bytes_ = 0;
  bool overflowed_ = false;
  net::steady_timer timer_;
};

class Broadcast {
 public:
  explicit Broadcast(net::io_context& context) : context_(context) {}

  void publish(const std::string& text);
  std::size_t size() const { return subscribers_.size(); }

  // Until the peer is gone. `begin` is what a stream starts with, and starts again with after it fell behind.
  Awaitable<void> serve(EventSink& sink, std::stop_token gone,
                        std::function<Awaitable<bool>(EventSink&)> begin,
                        std::function<bool(const std::string&)> wanted = {});

 private:
  Awaitable<bool> pass_on(EventSink& sink, Subscriber& subscriber,
                          const std::function<bool(const std::string&)>& wanted);

  net::io_context& context_;
  std::set<std::shared_ptr<Subscriber>> subscribers_;
};

}  // namespace holdfast::cli::serve
