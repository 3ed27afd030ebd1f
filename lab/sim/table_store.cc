#include "lab/sim/table_store.h"

#include <algorithm>
#include <utility>

namespace holdfast::lab::sim {

using internal::table::Given;
using internal::table::Turn;
using internal::table::Wake;

bool StoreRows::gone(ProcessId process) {
  const auto until = expected.find(process);
  return until != expected.end() && until->second <= now;
}

// ---- Store --------------------------------------------------------------------------------------

std::int64_t TableStore::clock() const {
  return std::chrono::duration_cast<Duration>(node_.wall().time_since_epoch()).count();
}

std::int64_t TableStore::end() const { return std::min(row_.expires, clock() + row_.ttl); }

Turn TableStore::begin_turn(internal::table::ProcessId asking) {
  rows_.asking = asking;
  rows_.now = node_.now();
  return {rows_, row_, clock()};
}

void TableStore::see_dropped() {
  for (const ClaimId& claim : std::exchange(rows_.dropped, {})) {
    if (watcher_) watcher_->on_left(claim);
  }
}

void TableStore::finish_turn(Turn& turn) {
  for (const Wake& wake : turn.take_wakes()) {
    if (wake.given && watcher_) watcher_->on_served(wake.claim);
    const auto push = pushes_.find(wake.claim);
    if (push != pushes_.end() && push->second) push->second();
  }
  arm();
}

LockStore::Answer TableStore::acquire(const Ask& ask) {
  const auto process = static_cast<internal::table::ProcessId>(ask.session + 1);
  rows_.expected[process] = node_.now() + ask.ttl;
  static const Name kName("lock");
  // It outlives its process: a server cannot see for certain that a holder is gone.
  const Claim claim{
      .name = kName, .id = ask.claim, .ttl = ask.ttl, .label = {}, .outlives_process = true};
  const bool had_it = holder() == ask.claim;
  Turn turn = begin_turn(process);
  const Turn::Answer answer = turn.acquire(claim, std::nullopt, ask.queue);
  see_dropped();
  const Given* const given = std::get_if<Given>(&answer);
  if (given != nullptr) {
    pushes_.erase(ask.claim);
    // (Once: who was handed it has been served then.)
    if (!had_it && watcher_) watcher_->on_served(ask.claim);
  } else if (ask.queue) {
    pushes_[ask.claim] = ask.push;
    if (watcher_) watcher_->on_waiting(ask.claim);
  }
  finish_turn(turn);
  if (given != nullptr) return {Answer::Kind::granted, given->token};
  return {ask.queue ? Answer::Kind::waiting : Answer::Kind::busy, Token()};
}

bool TableStore::renew(const ClaimId& claim, Duration ttl, std::uint64_t) {
  if (holder() != claim) return false;
  row_.expires = clock() + ttl.count();
  row_.ttl = ttl.count();
  arm();
  return true;
}

bool TableStore::release(const ClaimId& claim) {
  Turn turn = begin_turn(0);
  const bool held = turn.release(claim) == Turn::Ended::hold;
  pushes_.erase(claim);
  see_dropped();
  if (watcher_) watcher_->on_left(claim);
  finish_turn(turn);
  return held;
}

std::optional<ClaimId> TableStore::holder() {
  if (!row_.owner || end() <= clock()) return std::nullopt;
  return row_.owner;
}

void TableStore::restart() {
  for (auto& [claim, push] : pushes_) push = nullptr;
}

void TableStore::arm() {
  if (!row_.owner) return node_.disarm(*this);
  node_.arm(*this, node_.now() + std::max(Duration(end() - clock()), Duration(0)));
}

void TableStore::on_time() {
  if (holder()) return arm();
  const auto first = rows_.head();
  const auto push = first ? pushes_.find(first->claim) : pushes_.end();
  if (push != pushes_.end() && push->second) push->second();
}

}  // namespace holdfast::lab::sim
