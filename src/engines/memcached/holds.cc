#include "engines/memcached/holds.h"

namespace holdfast::internal::memcached {

void Holds::remember(Held held) {
  constexpr Duration kSoon = std::chrono::milliseconds(1);
  const ClaimId claim = held.word.claim;
  if (!held.recorded) {
    unrecorded_.push_back({claim, runtime_.now() + kSoon});
    if (!recording_) {
      recording_ = true;
      background_.spawn(record_tokens());
    }
  }
  holds_.insert_or_assign(claim, std::move(held));
}

void Holds::renewed(const ClaimId& claim, const Kept& kept) {
  Held* const held = find(claim);
  if (!held) return;
  if (!kept.held) {
    forget(claim);
    return;
  }
  held->stamp = kept.stamp;
  held->word.token = kept.token;
  held->recorded = true;
}

Task<void> Holds::record_tokens() {
  constexpr std::size_t kPart = 200;
  while (!unrecorded_.empty()) {
    const BootTime due = unrecorded_.front().due;
    const Woken woken = co_await sleep_until(runtime_, due, background_.stop_token());
    if (woken == Woken::cancelled) break;
    std::vector<Held> part;
    while (!unrecorded_.empty() && unrecorded_.front().due <= runtime_.now() &&
           part.size() < kPart) {
      const Held* const held = find(unrecorded_.front().claim);
      unrecorded_.pop_front();
      if (held && !held->recorded) part.push_back(*held);
    }
    if (!part.empty()) co_await record(std::move(part));
  }
  recording_ = false;
}

Task<void> Holds::record(std::vector<Held> part) {
  std::vector<Replacement> all;
  all.reserve(part.size());
  for (const Held& held : part) all.push_back({&held.keys, &held.word, held.ttl, held.stamp});
  const Deadline deadline = Deadline::at(runtime_.now() + request_timeout_);
  const std::vector<Result<Change>> outcomes = co_await node_.replace_all(all, deadline);
  for (std::size_t i = 0; i < part.size(); ++i) {
    // Whatever else came of it: the next renewal records it, and finds out what has happened.
    if (!outcomes[i] || outcomes[i]->verdict != Verdict::done) continue;
    Held* const held = find(part[i].word.claim);
    if (!held || held->recorded) continue;
    held->stamp = outcomes[i]->stamp;
    held->recorded = true;
  }
}

}  // namespace holdfast::internal::memcached
