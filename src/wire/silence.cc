#include "wire/silence.h"

#include <algorithm>

namespace holdfast::internal {

namespace {

// Longer than a Redis may wait for its replicas.
constexpr Duration kDead = std::chrono::seconds(2);

}  // namespace

bool Silence::is_dead(BootTime sent_at) {
  const BootTime since = std::max(last_heard_, silent_from_.value_or(sent_at));
  if (!silent_from_ || *silent_from_ <= last_heard_) silent_from_ = sent_at;
  return runtime_.now() - since >= kDead;
}

bool Silence::overdue(std::optional<BootTime> oldest_sent, Duration patience) const {
  return oldest_sent && runtime_.now() - std::max(*oldest_sent, last_heard_) > patience;
}

bool Silence::is_hopeless(std::optional<BootTime> oldest_sent, Duration patience) const {
  return silent_ && overdue(oldest_sent, std::max<Duration>(kDead, patience));
}

bool Silence::is_silent(std::optional<BootTime> oldest_sent, Duration patience) {
  if (!overdue(oldest_sent, patience)) {
    silent_ = false;
  } else if (!silent_ && !looking_) {
    looking_ = true;
    background_.spawn(look_once_more());
  }
  return silent_;
}

// Its answer may have arrived long ago, and we were too busy to read it: so the sockets are looked
// at once more.
Task<void> Silence::look_once_more() {
  constexpr Duration kMoment = std::chrono::milliseconds(1);
  const BootTime heard_before = last_heard_;
  static_cast<void>(
      co_await sleep_until(runtime_, runtime_.now() + kMoment, background_.stop_token()));
  silent_ = last_heard_ == heard_before;
  looking_ = false;
}

}  // namespace holdfast::internal
