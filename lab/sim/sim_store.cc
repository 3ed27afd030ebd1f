#include "lab/sim/sim_store.h"

#include <algorithm>

namespace holdfast::lab::sim {

namespace {

std::int64_t us_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

Duration SimStore::clock() const {
  if (!rules_.wall_clock) return node_.now().time_since_epoch();
  return std::chrono::duration_cast<Duration>(node_.wall().time_since_epoch());
}

void SimStore::drop_expired() {
  const BootTime now = node_.now();
  if (data_.holder && !rules_.never_expires && clock() >= data_.expires) data_.holder.reset();
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (now < waiter.gone_at) return false;
    if (watcher_) watcher_->on_left(waiter.claim);
    return true;
  });
}

void SimStore::extend(Duration ttl) {
  Duration early{};
  if (rules_.ends_early > Duration(0)) {
    early = Duration(static_cast<Duration::rep>(
        node_.random() % static_cast<std::uint64_t>(rules_.ends_early.count())));
  }
  data_.expires = clock() + ttl - early;
  node_.arm(*this, node_.now() + ttl - early);
  changed();
}

void SimStore::changed() {
  if (on_change) on_change(data_);
}

void SimStore::on_time() {
  drop_expired();
  if (!data_.holder) {
    tell_first();
  } else if (!rules_.never_expires) {
    // The clock jumped back: later.
    node_.arm(*this, node_.now() + (data_.expires - clock()));
  }
}

std::uint64_t SimStore::next_token(const Ask& ask) const {
  using Tokens = StoreRules::Tokens;
  const std::uint64_t next = data_.token + 1;
  if (rules_.tokens == Tokens::server_clock) {
    return std::max(next, static_cast<std::uint64_t>(us_of(node_.wall())));
  }
  if (rules_.tokens == Tokens::client_clock && data_.token == 0) {
    return static_cast<std::uint64_t>(ask.client_us);
  }
  return next;
}

SimStore::Answer SimStore::grant(const Ask& ask) {
  forget_waiter(ask.claim);
  data_.holder = ask.claim;
  data_.token = next_token(ask);
  extend(ask.ttl);
  if (watcher_) watcher_->on_served(ask.claim);
  return {Answer::Kind::granted, Token(data_.token)};
}

SimStore::Answer SimStore::wait(const Ask& ask) {
  const auto found = std::find_if(waiters_.begin(), waiters_.end(),
                                  [&](const Waiter& waiter) { return waiter.claim == ask.claim; });
  if (found == waiters_.end()) {
    waiters_.push_back({ask.claim, ask.push, node_.now() + ask.ttl});
  } else {
    found->gone_at = node_.now() + ask.ttl;
    found->push = ask.push;
  }
  if (watcher_) watcher_->on_waiting(ask.claim);
  if (!data_.holder) tell_first();
  return {Answer::Kind::waiting, Token()};
}

SimStore::Answer SimStore::acquire(const Ask& ask) {
  drop_expired();
  if (data_.holder == ask.claim) {
    extend(ask.ttl);
    return {Answer::Kind::granted, Token(data_.token)};
  }
  const bool first = waiters_.empty() || waiters_.front().claim == ask.claim;
  if (!data_.holder && (first || rules_.newcomers_barge)) return grant(ask);
  if (!ask.queue) return {Answer::Kind::busy, Token()};
  if (!rules_.keeps_line) return {Answer::Kind::waiting, Token()};
  return wait(ask);
}

bool SimStore::renew(const ClaimId& claim, Duration ttl, std::uint64_t) {
  drop_expired();
  if (data_.holder != claim) {
    if (!rules_.renewal_creates) return false;
    data_.holder = claim;
  }
  extend(ttl);
  return true;
}

bool SimStore::release(const ClaimId& claim) {
  drop_expired();
  forget_waiter(claim);
  if (watcher_) watcher_->on_left(claim);
  if (data_.holder != claim && !rules_.anyone_releases) return false;
  data_.holder.reset();
  changed();
  tell_first();
  return true;
}

void SimStore::restart() {
  for (Waiter& waiter : waiters_) waiter.push = nullptr;
}

void SimStore::wipe() {
  data_ = Data();
  waiters_.clear();
  if (watcher_) watcher_->on_line_lost();
  changed();
}

void SimStore::evict(bool token_too) {
  data_.holder.reset();
  if (token_too) data_.token = 0;
}

void SimStore::adopt(const Data& data) {
  data_ = data;
  if (data_.holder) on_time();
}

void SimStore::forget_waiter(const ClaimId& claim) {
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.claim == claim; });
}

void SimStore::tell_first() {
  if (!waiters_.empty() && waiters_.front().push) waiters_.front().push();
}

}  // namespace holdfast::lab::sim
