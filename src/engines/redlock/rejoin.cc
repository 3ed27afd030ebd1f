// Membership: how nodes that were restarted come back; the steps and invariants of membership.h.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "engines/redis/lock_view.h"
#include "engines/redlock/membership.h"

namespace holdfast::internal::redlock {

namespace {

using State = Marker::State;
using Memory = Marker::Memory;

}  // namespace

// It came back with data, but perhaps with those of long ago.
Task<void> Membership::mark_restarted(const Nodes& seen, Deadline deadline) {
  for (const std::size_t node : seen) {
    const RedisVoter& voter = *voters_[node];
    if (voter.state() != State::restarted) continue;
    const Marker& before = voter.marker();
    co_await rewrite(node, before.text,
                     before.marked_text(nonce(), size(), voter.identity().run_id), deadline);
  }
}

// No silence is longer than the longest ttl when it begins. One that is longer now tells of a clock
// that was set back: how much of it is over is not known any more.
Task<void> Membership::begin_silence_anew(const Nodes& seen, Deadline deadline) {
  for (const std::size_t node : seen) {
    const RedisVoter& voter = *voters_[node];
    const Marker& before = voter.marker();
    if (voter.state() != State::joining) continue;
    if (voter.silent_for() <= redis::ttl_of_ms(before.longest_ms)) continue;
    co_await rewrite(
        node, before.text,
        before.joining_text(before.epoch, before.longest_ms, before.floor, before.memory), deadline,
        before.longest_ms);
  }
}

// ---- Enough of the others are open -------------------------------------------------------------

Task<void> Membership::bring_back(const Nodes& seen, const Nodes& open, Deadline deadline) {
  // While all are being founded, one may seem to be empty that is only late. Epochs are numbered by
  // the clock.
  constexpr std::int64_t kYoungMs = 3000;
  Nodes unused = in_state(seen, State::blank);
  const Nodes founding = in_state(seen, State::founding);
  unused.insert(unused.end(), founding.begin(), founding.end());
  const auto age_ms = static_cast<std::int64_t>(wall_ms()) - static_cast<std::int64_t>(era_.number);
  if (!unused.empty() && std::abs(age_ms) > kYoungMs) {
    redis::Words as{std::to_string(nonce()), std::to_string(size())};
    co_await tend_all(unused, scripts_.mark, std::move(as), deadline);
  }
  for (const std::size_t node : seen) {
    if (voters_[node]->state() == State::marked) co_await join(node, open, deadline);
  }
  for (const std::size_t node : in_state(seen, State::joining)) finish_if_due(node, open);
}

Task<void> Membership::join(std::size_t node, Nodes open, Deadline deadline) {
  const Marker marked = voters_[node]->marker();
  // The others are asked only now: their answers from before the mark may be out of date, and the
  // node may have voted in an epoch that we have not heard of.
  const Nodes asked = co_await look(std::move(open), deadline);
  const Nodes others = in_state(asked, State::open);
  if (others.size() < majority_of_others(size())) co_return;
  for (const std::size_t other : others) hear_of(other);
  const quorum::Era epoch = new_epoch();
  era_ = epoch;
  established_ = false;
  co_await raise(others, longest_ms(others), deadline);
  std::size_t raised = 0;
  for (const std::size_t other : others) {
    if (voters_[other]->votes() && voters_[other]->marker().epoch >= epoch) ++raised;
  }
  if (raised < majority_of_others(size())) co_return;
  const std::int64_t silence = std::max(longest_ms(others), marked.longest_ms);
  const Memory memory = marked.remembers() ? Memory::older : Memory::none;
  const bool told = co_await rewrite(
      node, marked.text, marked.joining_text(epoch, silence, floor_, memory), deadline, silence);
  if (!told || voters_[node]->marker().epoch != epoch) co_return;
  warn_(voters_[node]->display() + (marked.remembers() ? " has restarted" : " has lost its data") +
        "; it votes again when it has been silent for " + std::to_string(silence / 1000) + " s");
}

// ---- Too few are -------------------------------------------------------------------------------

Task<void> Membership::refound(const Nodes& seen, const Nodes& open, Deadline deadline) {
  Nodes closed;
  for (const std::size_t node : seen) {
    const State state = voters_[node]->state();
    const bool waits = state == State::marked || state == State::joining;
    if (waits && voters_[node]->remembers()) closed.push_back(node);
  }
  if (closed.empty() || open.size() + closed.size() < majority()) co_return;
  // Others may have begun, and enough be with them. The newest counts.
  const RedisVoter* newest = nullptr;
  for (const std::size_t node : closed) {
    const RedisVoter& voter = *voters_[node];
    if (voter.marker().memory != Memory::refounds || voter.state() != State::joining) continue;
    if (!newest || voter.marker().epoch > newest->marker().epoch) newest = &voter;
  }
  if (newest) {
    const Marker joining = newest->marker();
    Nodes sources;
    for (const std::size_t node : seen) {
      if (stands_by(node, joining)) sources.push_back(node);
    }
    // (The one that joins is among them.)
    if (suffice(sources.size() - 1, joining)) {
      for (const std::size_t node : sources) {
        if (voters_[node]->state() == State::joining) finish_if_due(node, sources);
      }
      co_return;
    }
  }
  co_await begin_refounding(std::move(closed), open, deadline);
}

Task<void> Membership::begin_refounding(Nodes closed, Nodes open, Deadline deadline) {
  Nodes all = closed;
  all.insert(all.end(), open.begin(), open.end());
  std::map<std::size_t, Marker> before;
  for (const std::size_t node : closed) before[node] = voters_[node]->marker();
  const std::int64_t silence = longest_ms(all);
  const quorum::Era epoch = pass_what_was_forgotten(all);
  if (!open.empty()) co_await raise(open, silence, deadline);
  Marker joining;
  joining.epoch = epoch;
  joining.floor = floor_;
  joining.memory = Memory::refounds;
  const auto raised = std::count_if(open.begin(), open.end(),
                                    [&](std::size_t node) { return stands_by(node, joining); });
  if (static_cast<std::size_t>(raised) + closed.size() < majority()) co_return;
  for (const auto& [node, marker] : before) {
    const std::string text = marker.joining_text(epoch, silence, joining.floor, Memory::refounds);
    const bool marked = marker.state == State::marked;
    // Its silence goes on; a longer ttl that we have heard of makes it longer.
    const std::int64_t longer = std::max<std::int64_t>(silence - marker.longest_ms, 0);
    if (marked) {
      co_await rewrite(node, marker.text, text, deadline, silence);
    } else {
      co_await rewrite(node, marker.text, text + std::to_string(marker.until_ms + longer),
                       deadline);
    }
  }
  warn_("too few nodes are left that did not restart; " + std::to_string(closed.size()) + " of " +
        std::to_string(size()) + " vote again when they have been silent for " +
        std::to_string(silence / 1000) + " s");
}

quorum::Era Membership::pass_what_was_forgotten(const Nodes& nodes) {
  constexpr std::uint64_t kHourUs = 3'600'000'000;
  constexpr std::uint64_t kRoom = 1000;
  std::uint64_t clock_us = 0;
  for (const std::size_t node : nodes) clock_us = std::max(clock_us, voters_[node]->clock_us());
  // Clients may propose what is ahead of the clock, but nodes refuse what is an hour ahead. If the
  // floor is as high already, these clocks are behind the one that it came from: what was granted above
  // it may be forgotten as well. (No more room than that: the floor must not run ahead of the clocks.)
  floor_ = clock_us + kHourUs > floor_ ? clock_us + kHourUs : floor_ + kRoom;
  era_ = new_epoch();
  era_.number = std::max(era_.number, clock_us / 1000);
  established_ = false;
  return era_;
}

bool Membership::stands_by(std::size_t other, const Marker& joining) const {
  const RedisVoter& voter = *voters_[other];
  const Marker& marker = voter.marker();
  const bool refounds = joining.memory == Memory::refounds;
  if (voter.votes()) {
    return marker.epoch >= joining.epoch && (!refounds || marker.floor >= joining.floor);
  }
  return refounds && voter.state() == State::joining && marker.memory == Memory::refounds &&
         marker.epoch == joining.epoch;
}

bool Membership::suffice(std::size_t others, const Marker& joining) const {
  if (joining.memory == Memory::refounds) return others + 1 >= majority();
  return others >= majority_of_others(size());
}

// ---- Opening one -------------------------------------------------------------------------------

void Membership::finish_if_due(std::size_t node, const Nodes& sources) {
  if (finishing_ || voters_[node]->silent_for() > Duration(0)) return;
  finishing_ = true;
  background_.spawn(finish(node, sources));
}

// In the background: it reads the fences of all locks.
Task<void> Membership::finish(std::size_t node, Nodes sources) {
  constexpr Duration kLongest = std::chrono::minutes(10);
  const Deadline deadline = Deadline::at(runtime_.now() + kLongest);
  RedisVoter& joining = *voters_[node];
  const Marker marker = joining.marker();
  std::uint64_t floor = marker.floor;
  // One client is enough.
  const Result<bool> ours = co_await joining.claim_finish(deadline);
  if (ours && *ours && co_await take_over(node, sources, floor, deadline)) {
    co_await rewrite(node, marker.text,
                     marker.open_text(marker.epoch, marker.longest_ms, size(), nonce(), floor),
                     deadline);
  }
  finishing_ = false;
}

Task<bool> Membership::take_over(std::size_t node, const Nodes& sources, std::uint64_t& floor,
                                 Deadline deadline) {
  RedisVoter& joining = *voters_[node];
  const Marker marker = joining.marker();
  // Its own come first: they are kept where they are higher, but nobody's.
  const Result<RedisVoter::Fences> own = co_await joining.fences(deadline);
  if (!own) co_return false;
  std::map<std::string, std::uint64_t> highest(own->begin(), own->end());
  std::size_t asked = 0;
  for (const std::size_t other : sources) {
    // One that has not heard of the epoch may still take part in what was before it.
    if (other == node || !stands_by(other, marker)) continue;
    const Result<RedisVoter::Fences> fences = co_await voters_[other]->fences(deadline);
    if (!fences) continue;
    // It must not have lost its data before we had read all of it.
    redis::Words nothing;
    const Result<void> looked =
        co_await voters_[other]->tend(scripts_.look, std::move(nothing), deadline);
    if (!looked || !stands_by(other, marker)) continue;
    ++asked;
    floor = std::max(floor, voters_[other]->marker().floor);
    for (const auto& [key, token] : *fences) {
      std::uint64_t& known = highest[key];
      known = std::max(known, token);
    }
  }
  if (!suffice(asked, marker)) co_return false;
  RedisVoter::Fences all(highest.begin(), highest.end());
  const Result<void> adopted = co_await joining.adopt(marker, std::move(all), deadline);
  co_return adopted.ok();
}

}  // namespace holdfast::internal::redlock
