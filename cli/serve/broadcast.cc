#include "serve/broadcast.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::cli::serve {
namespace {

constexpr std::size_t kMaxBehind = std::size_t{8} << 20;
// A comment in the stream, so that silence means that the daemon is gone.
constexpr std::chrono::seconds kPulse{10};

}  // namespace

void Subscriber::push(SharedText text) {
  if (overflowed_) return;
  bytes_ += text->size();
  if (bytes_ > kMaxBehind) {
    overflowed_ = true;
    texts_.clear();
    bytes_ = 0;
  } else {
    texts_.push_back(std::move(text));
  }
  wake();
}

void Broadcast::publish(const std::string& text) {
  if (subscribers_.empty()) return;
  const SharedText shared = std::make_shared<const std::string>(text);
  for (const auto& subscriber : subscribers_) subscriber->push(shared);
}

Awaitable<bool> Broadcast::pass_on(EventSink& sink, Subscriber& subscriber,
                                   const std::function<bool(const std::string&)>& wanted) {
  while (!subscriber.texts_.empty() && !subscriber.overflowed_) {
    const SharedText text = std::move(subscriber.texts_.front());
    subscriber.texts_.pop_front();
    subscriber.bytes_ -= text->size();
    if (wanted && !wanted(*text)) continue;
    if (!co_await sink.send(*text)) co_return false;
  }
  co_return true;
}

Awaitable<void> Broadcast::serve(EventSink& sink, std::stop_token gone,
                                 std::function<Awaitable<bool>(EventSink&)> begin,
                                 std::function<bool(const std::string&)> wanted) {
  const auto subscriber = std::make_shared<Subscriber>(context_);
  subscribers_.insert(subscriber);
  const std::stop_callback on_gone(gone, [subscriber] { subscriber->wake(); });
  bool told = co_await begin(sink);
  while (told && !gone.stop_requested()) {
    told = co_await pass_on(sink, *subscriber, wanted);
    if (told && subscriber->overflowed_) {
      subscriber->overflowed_ = false;
      told = co_await begin(sink);
      continue;
    }
    if (!told || !subscriber->texts_.empty() || gone.stop_requested()) continue;
    subscriber->timer_.expires_after(kPulse);
    boost::system::error_code woken;
    co_await subscriber->timer_.async_wait(net::redirect_error(net::use_awaitable, woken));
    if (!woken) told = co_await sink.send(": still here\n\n");
  }
  subscribers_.erase(subscriber);
}

}  // namespace holdfast::cli::serve
