#include "serve/repeats.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::cli::serve {
namespace {

constexpr std::size_t kMinKey = 16;
constexpr std::size_t kMaxKey = 200;
constexpr std::size_t kRemembered = 100'000;

}  // namespace

std::optional<std::string> Repeats::problem_with(const std::string& key) {
  const bool visible =
      std::ranges::all_of(key, [](char each) { return each > ' ' && each < 0x7f; });
  if (key.size() >= kMinKey && key.size() <= kMaxKey && visible) return std::nullopt;
  return "an Idempotency-Key has " + std::to_string(kMinKey) + " to " + std::to_string(kMaxKey) +
         " visible ASCII characters; draw it at random for each lock that you want (a UUID is "
         "good)";
}

std::shared_ptr<Attempt> Repeats::attempt(const std::string& key, const std::string& fingerprint,
                                          bool& is_new) {
  std::shared_ptr<Attempt>& known = attempts_[key];
  is_new = !known;
  if (known && known->fingerprint != fingerprint) {
    throw ProblemError(
        422, "key_reused",
        "this Idempotency-Key was used for another request; draw a new one for each lock");
  }
  if (known && known->kept && known->kept->over) {
    throw ProblemError(
        410, "not_held",
        "the lease of this Idempotency-Key was released or has ended; draw a new key");
  }
  if (known && (!known->over || known->kept)) return known;
  auto fresh = std::make_shared<Attempt>();
  fresh->fingerprint = fingerprint;
  fresh->done = std::make_shared<net::steady_timer>(context_, net::steady_timer::time_point::max());
  if (is_new) oldest_.push_back(key);
  is_new = true;
  known = fresh;
  forget_some();
  return fresh;
}

void Repeats::end(Attempt& attempt) {
  attempt.over = true;
  attempt.done->cancel();
}

Awaitable<void> Repeats::outcome(std::shared_ptr<Attempt> attempt, std::stop_token gone) {
  ++attempt->askers;
  {
    // All of them look whether it is they who have gone.
    const std::stop_callback leave(gone, [&] { attempt->done->cancel(); });
    while (!attempt->over && !gone.stop_requested()) {
      boost::system::error_code ignored;
      co_await attempt->done->async_wait(net::redirect_error(net::use_awaitable, ignored));
    }
  }
  if (--attempt->askers == 0 && !attempt->over) attempt->stop.request_stop();
}

// The oldest that are over. Those that are not are few: each has a connection.
void Repeats::forget_some() {
  for (std::size_t looked = 0; oldest_.size() > kRemembered && looked < 8; ++looked) {
    const std::string key = std::move(oldest_.front());
    oldest_.pop_front();
    const auto found = attempts_.find(key);
    const bool needed =
        found != attempts_.end() &&
        (!found->second->over || (found->second->kept && !found->second->kept->over));
    if (needed) {
      oldest_.push_back(key);
    } else {
      attempts_.erase(key);
    }
  }
}

}  // namespace holdfast::cli::serve
