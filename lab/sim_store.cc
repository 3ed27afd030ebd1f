#include "lab/sim_store.h"

#include <algorithm>

namespace holdfast::lab {

void SimStore::drop_expired() {
  const BootTime now = node_.now();
  if (holder_ && now >= expires_) holder_.reset();
  std::erase_if(waiters_, [&](const Waiter& waiter) { return now >= waiter.gone_at; });
}

void SimStore::extend(Duration ttl) {
  expires_ = node_.now() + ttl;
  node_.arm(*this, expires_);
}

void SimStore::on_time() {
  drop_expired();
  if (!holder_) tell_first();
}

Token SimStore::grant(const ClaimId& claim, Duration ttl) {
  holder_ = claim;
  extend(ttl);
  return Token(++token_);
}

std::optional<Token> SimStore::acquire(const ClaimId& claim, Duration ttl, bool queue, Push push) {
  drop_expired();
  if (holder_ == claim) {
    extend(ttl);
    return Token(token_);
  }
  const bool first = waiters_.empty() || waiters_.front().claim == claim;
  if (!holder_ && first) {
    forget_waiter(claim);
    return grant(claim, ttl);
  }
  if (!queue) return std::nullopt;
  const auto place = std::find_if(waiters_.begin(), waiters_.end(),
                                  [&](const Waiter& waiter) { return waiter.claim == claim; });
  if (place == waiters_.end()) {
    waiters_.push_back({claim, std::move(push), node_.now() + ttl});
  } else {
    place->gone_at = node_.now() + ttl;
  }
  if (!holder_) tell_first();
  return std::nullopt;
}

bool SimStore::renew(const ClaimId& claim, Duration ttl) {
  drop_expired();
  if (holder_ != claim) return false;
  extend(ttl);
  return true;
}

bool SimStore::release(const ClaimId& claim) {
  drop_expired();
  forget_waiter(claim);
  if (holder_ != claim) return false;
  holder_.reset();
  tell_first();
  return true;
}

void SimStore::forget_waiter(const ClaimId& claim) {
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.claim == claim; });
}

void SimStore::tell_first() {
  if (!waiters_.empty() && waiters_.front().push) waiters_.front().push();
}

}  // namespace holdfast::lab
