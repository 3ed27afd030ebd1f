#include "engines/quorum/campaign.h"

#include <algorithm>
#include <map>

#include "base/failures.h"

namespace holdfast::internal::quorum {

namespace {

constexpr std::uint32_t bit(std::size_t node) { return std::uint32_t{1} << node; }

// Nodes whose answers are not awaited any more may be able to vote.
std::string too_few(const Tally& tally, std::size_t can_vote, std::size_t size) {
  const std::size_t pending = tally.pending();
  return (pending > 0 ? "at most " : "only ") + std::to_string(can_vote + pending) + " of " +
         std::to_string(size) + " nodes can vote, and " + std::to_string(tally.majority()) +
         " are needed";
}

}  // namespace

// One attempt, shared with those who ask: some of them outlive it.
struct Campaign::Poll {
  Poll(Runtime& runtime, const Claim& of, std::shared_ptr<Stake> at, std::size_t nodes,
       const Era& in_era)
      : claim(of),
        stake(std::move(at)),
        era(in_era),
        number(stake->attempt),
        tally(nodes),
        ballots(nodes),
        changed(runtime) {}

  // Whether a vote would still be of use.
  bool wanted() const { return stake->wanted && stake->attempt == number && (!over || granted); }

  Claim claim;
  std::shared_ptr<Stake> stake;
  Era era;
  std::uint32_t number;  // of the stake's attempts
  std::uint64_t token = 0;
  Tally tally;
  std::vector<Ballot> ballots;
  Event changed;
  bool over = false;
  bool granted = false;
};

// The release of a claim's votes.
struct Campaign::Returning {
  Returning(Runtime& runtime, const Claim& of) : claim(of), changed(runtime) {}
  Claim claim;
  std::size_t had = 0;
  std::size_t had_not = 0;
  std::size_t pending = 0;
  Event changed;
};

Campaign::Campaign(Runtime& runtime, Electorate& electorate, const QuorumOptions& options)
    : runtime_(runtime), electorate_(electorate), options_(options), background_(runtime) {}

std::shared_ptr<Campaign::Stake> Campaign::stake_of(const ClaimId& id) {
  std::shared_ptr<Stake>& stake = stakes_[id];
  if (!stake) stake = std::make_shared<Stake>();
  return stake;
}

// ---- Tokens ------------------------------------------------------------------------------------

// The wall clock makes a good first guess: it grows, and everybody has one. If it is wrong, the
// nodes say so.
std::uint64_t Campaign::first_token(const Name& name) const {
  const auto since_epoch = runtime_.wall().time_since_epoch();
  const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
  const std::uint64_t guess =
      std::max(now_us > 0 ? static_cast<std::uint64_t>(now_us) : 1, electorate_.floor() + 1);
  const auto known = fences_.find(name.bytes());
  return known == fences_.end() ? guess : std::max(guess, known->second + 1);
}

void Campaign::remember_fence(const Name& name, std::uint64_t fence) {
  constexpr std::size_t kMaxFences = 4096;
  if (fences_.size() >= kMaxFences) fences_.clear();  // They only save a round trip.
  std::uint64_t& known = fences_[name.bytes()];
  known = std::max(known, fence);
}

// ---- Asking ------------------------------------------------------------------------------------

Task<Campaign::Outcome> Campaign::attempt(const Claim& claim, Ticket ticket, Deadline limit,
                                          std::stop_token stop) {
  const std::shared_ptr<Stake> stake = stake_of(claim.id);
  stake->attempt = ++attempts_;
  stake->wanted = true;
  const auto poll = std::make_shared<Poll>(runtime_, claim, stake, size(), electorate_.era());
  poll->token = first_token(claim.name);
  ask_all(poll, ticket);
  const Verdict verdict = co_await count(poll, limit, stop);
  poll->over = true;
  poll->granted = verdict == Verdict::granted && !stop.stop_requested();
  if (!poll->granted) give_back_all(poll, ticket);
  co_return outcome_of(*poll, verdict, stop.stop_requested());
}

void Campaign::ask_all(const std::shared_ptr<Poll>& poll, Ticket ticket) {
  const Proposal proposal{
      .token = poll->token, .era = poll->era, .attempt = poll->number, .ticket = ticket};
  for (std::size_t node = 0; node < size(); ++node) {
    poll->ballots[node].why = electorate_.voter(node).display() + " does not answer";
  }
  const std::vector<std::size_t> asked = nodes_to_ask(electorate_);
  // All are asked before any answer is heard of; who cannot be asked must not end the count early.
  for (const std::size_t node : asked) poll->tally.ask(node, proposal.token);
  for (const std::size_t node : asked) background_.spawn(cast(poll, node, proposal));
}

Task<Verdict> Campaign::count(const std::shared_ptr<Poll>& poll, Deadline limit,
                              std::stop_token stop) {
  constexpr Duration kHurry = std::chrono::milliseconds(1);
  constexpr int kMaxProposals = 10;  // more are needed only against a hostile client
  const BootTime begin = runtime_.now();
  BootTime patience = begin + options_.node_timeout;
  std::optional<BootTime> hurry;
  for (int proposals = 1;;) {
    const Tally& tally = poll->tally;
    const Verdict verdict = tally.decide(poll->token);
    const bool stopped = stop.stop_requested();
    if (stopped || (verdict == Verdict::lost && explained(*poll))) co_return verdict;
    if (verdict == Verdict::granted && (!options_.collect_all || tally.pending() == 0)) {
      co_return verdict;
    }
    if (verdict == Verdict::low) {
      if (proposals >= kMaxProposals || limit.passed(runtime_.now())) co_return verdict;
      const std::uint64_t next = higher_token(*poll, proposals);
      // If these nodes refuse it, the slower ones must make up a majority.
      if (tally.accepting(next) < tally.majority() && tally.unanswered() > 0 &&
          runtime_.now() < patience) {
        poll->changed.reset();
        static_cast<void>(co_await poll->changed.wait(limit.sooner(patience), stop));
        continue;
      }
      ++proposals;
      propose_to_locked(poll, next);
      patience = runtime_.now() + options_.node_timeout;
      hurry.reset();
      continue;
    }
    // A majority is locked, and only the token is open: slow nodes are not waited for long.
    if (verdict == Verdict::open && tally.locked() >= tally.majority() && !hurry) {
      hurry = runtime_.now() + std::max<Duration>(kHurry, 2 * (runtime_.now() - begin));
    }
    const BootTime until = hurry ? std::min(*hurry, patience) : patience;
    poll->changed.reset();
    const Woken woken = co_await poll->changed.wait(limit.sooner(until), stop);
    if (woken == Woken::timed_out) {
      if (verdict == Verdict::granted) co_return verdict;
      // Nodes that answer others are only busy, as we may be ourselves.
      if (!hurry && !limit.passed(runtime_.now()) && alive(tally)) {
        patience = runtime_.now() + options_.node_timeout / 4;
        continue;
      }
      poll->tally.stop_waiting();
      hurry.reset();
    }
  }
}

std::uint64_t Campaign::higher_token(const Poll& poll, int proposals) {
  std::uint64_t wish = first_token(poll.claim.name);
  // Readers raise the fences for each other: with some room between them they do not collide again.
  if (poll.claim.mode == Mode::shared && proposals > 1) {
    wish = std::max(wish, poll.tally.highest_fence() + 1) +
           runtime_.random() % (std::uint64_t{64} << proposals);
  }
  return poll.tally.next_token(wish, electorate_.floor() + 1);
}

void Campaign::propose_to_locked(const std::shared_ptr<Poll>& poll, std::uint64_t token) {
  poll->token = token;
  remember_fence(poll->claim.name, token);
  const Proposal proposal{.token = token, .era = poll->era, .attempt = poll->number};
  std::vector<std::size_t> locked;
  for (std::size_t node = 0; node < size(); ++node) {
    if (poll->tally.is_locked(node)) locked.push_back(node);
  }
  for (const std::size_t node : locked) poll->tally.ask(node, token);
  for (const std::size_t node : locked) background_.spawn(cast_fence(poll, node, proposal));
}

bool Campaign::explained(const Poll& poll) const {
  std::size_t heard = poll.tally.locked();
  for (const Ballot& ballot : poll.ballots) {
    if (ballot.kind == Ballot::Kind::busy) ++heard;
  }
  const std::size_t majority = poll.tally.majority();
  return heard >= majority || heard + poll.tally.pending() < majority;
}

bool Campaign::alive(const Tally& tally) {
  for (std::size_t node = 0; node < size(); ++node) {
    if (tally.is_pending(node) && electorate_.voter(node).responsive()) return true;
  }
  return false;
}

Task<void> Campaign::cast(std::shared_ptr<Poll> poll, std::size_t node, Proposal proposal) {
  Voter& voter = electorate_.voter(node);
  Stake& stake = *poll->stake;
  Ballot ballot;
  const Result<void> ready =
      co_await voter.ready(Deadline::at(runtime_.now() + options_.request_timeout));
  if (!ready) {
    ballot.why = ready.message();
    ballot.code = ready.code();
  } else if (poll->wanted()) {
    const bool before = (stake.words & bit(node)) != 0;
    stake.words |= bit(node);
    stake.asked_back &= ~bit(node);
    if (proposal.ticket) stake.lines |= bit(node);
    ballot = co_await voter.vote(poll->claim, proposal,
                                 Deadline::at(runtime_.now() + options_.request_timeout));
    const bool kept = ballot.kind == Ballot::Kind::locked || ballot.kind == Ballot::Kind::silent;
    // A busy node has no word of ours; the others were not asked, so an earlier vote stays.
    const bool clear = ballot.kind == Ballot::Kind::busy || !before;
    if (!kept && clear && stake.attempt == poll->number) stake.words &= ~bit(node);
    const bool on_its_way = (stake.asked_back & bit(node)) != 0 && !ballot.resent;
    if (ballot.kind == Ballot::Kind::locked && stake.attempt == poll->number && !poll->wanted() &&
        !on_its_way) {
      background_.spawn(give_back(poll->stake, poll->claim, node, proposal.ticket));
    }
  }
  if (ballot.fence > proposal.token) remember_fence(poll->claim.name, ballot.fence);
  poll->tally.answer(node, proposal.token, ballot);
  poll->ballots[node] = std::move(ballot);
  poll->changed.set();
}

Task<void> Campaign::cast_fence(std::shared_ptr<Poll> poll, std::size_t node, Proposal proposal) {
  const Ballot ballot = co_await electorate_.voter(node).fence(
      poll->claim, proposal, Deadline::at(runtime_.now() + options_.request_timeout));
  if (ballot.fence > proposal.token) remember_fence(poll->claim.name, ballot.fence);
  poll->tally.answer(node, proposal.token, ballot);
  if (ballot.kind != Ballot::Kind::locked) poll->ballots[node] = ballot;
  poll->changed.set();
}

// ---- Outcomes ----------------------------------------------------------------------------------

Campaign::Outcome Campaign::outcome_of(Poll& poll, Verdict verdict, bool cancelled) const {
  Outcome outcome;
  if (cancelled) {
    outcome.failure = cancelled_by_caller();
    return outcome;
  }
  if (verdict == Verdict::granted) {
    outcome.grant = Grant{Token(poll.token), poll.tally.counted_from(poll.token),
                          electorate_.sure_ttl(poll.claim.ttl)};
    return outcome;
  }
  std::map<std::string, std::size_t> holders;
  std::vector<Duration> ends;
  std::size_t closed = 0;
  std::size_t silent = 0;
  std::size_t best = 0;
  std::string why;
  Code code = Code::unreachable;
  for (std::size_t node = 0; node < poll.ballots.size(); ++node) {
    const Ballot& ballot = poll.ballots[node];
    if (ballot.kind == Ballot::Kind::busy) {
      outcome.busy_at |= bit(node);
      outcome.foreign = outcome.foreign || ballot.foreign;
      if (ballot.busy.expires_in) ends.push_back(*ballot.busy.expires_in);
      const std::size_t nodes = ++holders[ballot.holder];
      if (nodes > best) {
        best = nodes;
        outcome.busy = ballot.busy;
      }
    } else if (ballot.kind != Ballot::Kind::locked) {
      if (ballot.kind == Ballot::Kind::closed) ++closed;
      if (ballot.kind == Ballot::Kind::silent || (poll.stake->words & bit(node)) != 0) ++silent;
      if (ballot.code == Code::misconfigured) code = Code::misconfigured;
      if (!ballot.why.empty() && !poll.tally.is_pending(node)) {
        why += (why.empty() ? "" : "; ") + ballot.why;
      }
    }
  }
  const std::size_t majority = poll.tally.majority();
  const std::size_t size = poll.ballots.size();
  const std::size_t locked = poll.tally.locked();
  const std::size_t busy = static_cast<std::size_t>(__builtin_popcount(outcome.busy_at));
  // As soon as so many of those that hold it have ended, a majority can be had.
  const std::size_t missing = majority - std::min(locked, majority - 1);
  std::sort(ends.begin(), ends.end());
  if (!ends.empty()) outcome.busy.expires_in = ends[std::min(missing, ends.size()) - 1];
  outcome.closed = closed > 0 && busy <= size - majority;
  outcome.split = best < majority;
  if (busy > 0 && locked + busy >= majority) return outcome;
  if (locked >= majority) {
    outcome.split = true;  // Others raised the fences as fast as we did.
    outcome.busy.holder = "nobody, but a majority did not agree on a token";
    return outcome;
  }
  const std::string what = too_few(poll.tally, locked + busy, size);
  if (locked + silent >= majority && silent > 0) code = Code::unknown;
  outcome.failure = Failure(code, why.empty() ? what : what + " (" + why + ")");
  return outcome;
}

// ---- Giving back -------------------------------------------------------------------------------

void Campaign::give_back_all(const std::shared_ptr<Poll>& poll, Ticket ticket) {
  for (std::size_t node = 0; node < size(); ++node) {
    if ((poll->stake->words & bit(node)) == 0) continue;
    background_.spawn(give_back(poll->stake, poll->claim, node, ticket));
  }
}

Task<void> Campaign::give_back(std::shared_ptr<Stake> stake, Claim claim, std::size_t node,
                               Ticket ticket) {
  constexpr Duration kShortest = std::chrono::milliseconds(5);
  constexpr Duration kLongest = std::chrono::milliseconds(500);
  Voter& voter = electorate_.voter(node);
  const std::uint32_t attempt = stake->attempt;
  const BootTime until = runtime_.now() + claim.ttl;  // By then it has ended by itself.
  for (Duration pause = kShortest;; pause = std::min(pause * 2, kLongest)) {
    const Deadline deadline = Deadline::at(runtime_.now() + options_.request_timeout);
    const Result<void> ready = co_await voter.ready(deadline);
    if (stake->attempt != attempt) co_return;  // Asked again since: that is not ours to end.
    if (ready) {
      const Ticket place = stake->wanted ? ticket : std::nullopt;
      const Voter::Return how{.ticket = place, .attempt = attempt};
      stake->asked_back |= bit(node);
      const Result<bool> done = co_await voter.release(claim, how, deadline);
      if (stake->attempt != attempt) co_return;
      if (done) {
        stake->words &= ~bit(node);
        if (!place) stake->lines &= ~bit(node);
        settle(claim.id, *stake);
        co_return;
      }
    }
    if (runtime_.now() >= until) {
      stake->words &= ~bit(node);
      stake->lines &= ~bit(node);
      settle(claim.id, *stake);
      co_return;
    }
    const BootTime again = runtime_.now() + runtime_.jitter(pause, 0.5);
    if (co_await sleep_until(runtime_, again, background_.stop_token()) == Woken::cancelled) {
      co_return;
    }
    if (stake->attempt != attempt) co_return;
  }
}

// Kept until all is given back: the same claim may come again meanwhile.
void Campaign::settle(const ClaimId& id, const Stake& stake) {
  if (stake.wanted || (stake.words | stake.lines) != 0) return;
  const auto place = stakes_.find(id);
  if (place != stakes_.end() && place->second.get() == &stake) stakes_.erase(place);
}

Task<Result<bool>> Campaign::release(const Claim& claim, Deadline deadline) {
  // Not known here: it was acquired elsewhere, and any node may have it.
  const bool known = stakes_.contains(claim.id);
  const std::shared_ptr<Stake> stake = stake_of(claim.id);
  if (!known) stake->words = stake->lines = bit(size()) - 1;
  stake->wanted = false;
  const auto all = std::make_shared<Returning>(runtime_, claim);
  const std::uint32_t nodes = stake->words | stake->lines;
  settle(claim.id, *stake);
  for (std::size_t node = 0; node < size(); ++node) {
    if ((nodes & bit(node)) != 0) ++all->pending;
  }
  all->had_not = size() - all->pending;
  for (std::size_t node = 0; node < size(); ++node) {
    if ((nodes & bit(node)) != 0) background_.spawn(hand_in(all, stake, node));
  }
  const std::size_t majority = majority_of(size());
  while (all->had < majority && all->had_not <= size() - majority && all->pending > 0) {
    all->changed.reset();
    if (co_await all->changed.wait(deadline) == Woken::timed_out) break;
  }
  if (all->had >= majority) co_return true;
  if (all->had_not > size() - majority) co_return false;
  co_return Failure(Code::unknown, "only " + std::to_string(all->had + all->had_not) + " of " +
                                       std::to_string(size()) +
                                       " nodes confirmed the release; the others are asked again");
}

Task<void> Campaign::hand_in(std::shared_ptr<Returning> all, std::shared_ptr<Stake> stake,
                             std::size_t node) {
  Voter& voter = electorate_.voter(node);
  bool answered = false;
  if (voter.responsive()) {
    const Deadline deadline = Deadline::at(runtime_.now() + options_.request_timeout);
    const Result<void> ready = co_await voter.ready(deadline);
    if (ready) {
      const Voter::Return how{.was_free = stake->lines == 0};
      stake->asked_back |= bit(node);
      const Result<bool> done = co_await voter.release(all->claim, how, deadline);
      answered = done.ok();
      if (done) ++(*done ? all->had : all->had_not);
      if (done && !stake->wanted) {
        stake->words &= ~bit(node);
        stake->lines &= ~bit(node);
      }
    }
  }
  --all->pending;
  all->changed.set();
  settle(all->claim.id, *stake);
  if (!answered && !stake->wanted) co_await give_back(stake, all->claim, node, std::nullopt);
}

// ---- More votes --------------------------------------------------------------------------------

void Campaign::add_vote(const Hold& hold, std::size_t node) {
  const auto known = stakes_.find(hold.claim.id);
  if (known == stakes_.end() || !known->second->wanted) return;
  background_.spawn(cast_extra(known->second, hold, node));
}

Task<void> Campaign::cast_extra(std::shared_ptr<Stake> stake, Hold hold, std::size_t node) {
  Voter& voter = electorate_.voter(node);
  const Deadline deadline = Deadline::at(runtime_.now() + options_.request_timeout);
  const Result<void> ready = co_await voter.ready(deadline);
  if (!ready || !stake->wanted || !electorate_.ready_to_vote()) co_return;
  const bool before = (stake->words & bit(node)) != 0;
  const Proposal proposal{.token = hold.token.value(),
                          .era = electorate_.era(),
                          .attempt = stake->attempt,
                          .held = true};
  stake->words |= bit(node);
  stake->asked_back &= ~bit(node);
  const Ballot ballot = co_await voter.vote(hold.claim, proposal, deadline);
  const bool kept = ballot.kind == Ballot::Kind::locked || ballot.kind == Ballot::Kind::silent;
  if (!kept && !before) stake->words &= ~bit(node);
  if (ballot.kind == Ballot::Kind::locked && !stake->wanted) {
    co_await give_back(stake, hold.claim, node, std::nullopt);
  }
}

}  // namespace holdfast::internal::quorum
