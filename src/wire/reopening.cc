#include "wire/reopening.h"

#include <algorithm>

#include "holdfast/async.h"

namespace holdfast::internal {

void Reopening::begin() {
  if (under_way_) return;
  under_way_ = true;
  since_ = runtime_.now();
  done_.reset();
  background_.spawn(run());
}

Task<void> Reopening::run() {
  constexpr Duration kShortest = std::chrono::milliseconds(5);
  constexpr Duration kLongest = std::chrono::seconds(1);
  if (runtime_.now() < not_before_) {
    static_cast<void>(co_await sleep_until(runtime_, not_before_, background_.stop_token()));
  }
  last_ = co_await contained(open_());
  if (last_) {
    backoff_ = Duration(0);
  } else {
    failed_();
    backoff_ = std::clamp<Duration>(backoff_ * 2, kShortest, kLongest);
    not_before_ = runtime_.now() + runtime_.jitter(backoff_, 0.5);
  }
  under_way_ = false;
  done_.set();
}

bool Reopening::is_hard(Duration patience) const {
  return !last_ || (under_way_ && runtime_.now() - since_ > 4 * patience);
}

}  // namespace holdfast::internal
