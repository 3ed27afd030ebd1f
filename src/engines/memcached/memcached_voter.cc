#include "engines/memcached/memcached_voter.h"

#include <algorithm>

namespace holdfast::internal::memcached {

using quorum::Ballot;
using quorum::Proposal;
using quorum::Standing;

bool MemcachedVoter::responsive() {
  Connection& connection = node_.connection();
  if (!connection.unresponsive(node_timeout_)) return true;
  connection.begin_to_open();  // It counts again as soon as it is back.
  return false;
}

Task<Result<void>> MemcachedVoter::ready(Deadline deadline) {
  return node_.connection().open(deadline);
}

Ballot MemcachedVoter::failed(const Failure& why) {
  Ballot ballot;
  ballot.kind = why.code() == Code::unknown ? Ballot::Kind::silent : Ballot::Kind::unreachable;
  ballot.code = why.code();
  ballot.why = why.message();
  return ballot;
}

// ---- Voting ------------------------------------------------------------------------------------

bool MemcachedVoter::bring(const ClaimId& id) {
  constexpr std::size_t kMaxEntries = 4096;
  if (!brought_.insert(id).second) return true;
  brought_in_order_.push_back(id);
  if (brought_in_order_.size() > kMaxEntries) {
    brought_.erase(brought_in_order_.front());
    brought_in_order_.pop_front();
  }
  return false;
}

Task<Ballot> MemcachedVoter::vote(const Claim& claim, const Proposal& proposal, Deadline deadline) {
  if (!node_.connection().connected()) {
    co_return failed(Failure(Code::unreachable, display() + ": not connected"));
  }
  const bool brought = bring(claim.id);
  known_[claim.id].attempt = proposal.attempt;
  const Keys keys = keys_of(claim.name);
  const Word word = word_of(claim, Token(proposal.token), runtime_.wall());
  const Result<Taking> taking =
      co_await node_.take(keys, word, ItemTtl(claim.ttl), false, deadline);
  if (!taking) co_return failed(taking.failure());
  Ballot ballot;
  if (taking->stamp) {
    known_[claim.id].stamp = taking->stamp;
    ballot.kind = Ballot::Kind::locked;
    ballot.accepted = true;
    ballot.sent_at = taking->sent_at;
    co_return ballot;
  }
  const Sight& seen = taking->seen;
  if (seen.of(claim.id)) {
    twin_ = twin_ || !brought;
    co_return co_await take_up(claim, seen, proposal, deadline);
  }
  ballot.kind = Ballot::Kind::busy;
  ballot.foreign = !seen.word;
  ballot.holder = seen.word ? seen.word->claim.hex() : "";
  ballot.busy.holder = seen.word ? seen.word->label : kForeignLabel;
  ballot.busy.token = seen.word ? seen.word->token.value() : 0;
  ballot.busy.expires_in = seen.left;
  if (!proposal.ticket) known_.erase(claim.id);
  co_return ballot;
}

// The claim's own word stands there: an earlier vote was given, and its reply was lost, or it waited.
Task<Ballot> MemcachedVoter::take_up(const Claim& claim, Sight seen, const Proposal& proposal,
                                     Deadline deadline) {
  Ballot ballot;
  ballot.kind = Ballot::Kind::locked;
  if (seen.word->token.value() != proposal.token) {
    ballot.fence = seen.word->token.value();
    ballot.own = true;
  } else {
    ballot.accepted = true;
  }
  const Keys keys = keys_of(claim.name);
  const Result<Kept> kept =
      co_await node_.renew(keys, *seen.word, ItemTtl(claim.ttl), seen.stamp, deadline);
  if (!kept) co_return failed(kept.failure());
  if (!kept->held) co_return failed(Failure(Code::unreachable, display() + ": its vote has ended"));
  known_[claim.id].stamp = kept->stamp;
  ballot.sent_at = kept->sent_at;
  co_return ballot;
}

Task<Ballot> MemcachedVoter::fence(const Claim& claim, const Proposal& proposal,
                                   Deadline deadline) {
  if (!node_.connection().connected()) {
    co_return failed(Failure(Code::unreachable, display() + ": not connected"));
  }
  const Keys keys = keys_of(claim.name);
  Word word = word_of(claim, Token(proposal.token), runtime_.wall());
  const Result<Kept> kept = co_await node_.renew(keys, std::move(word), ItemTtl(claim.ttl),
                                                 known_[claim.id].stamp, deadline);
  if (!kept) co_return failed(kept.failure());
  if (!kept->held) co_return failed(Failure(Code::unreachable, display() + ": its vote has ended"));
  known_[claim.id].stamp = kept->stamp;
  Ballot ballot;
  ballot.kind = Ballot::Kind::locked;
  ballot.accepted = true;
  ballot.sent_at = kept->sent_at;
  co_return ballot;
}

// ---- Keeping and giving back -------------------------------------------------------------------

Task<void> MemcachedVoter::renew_one(const Hold& hold, Deadline deadline,
                                     Result<Standing>& outcome) {
  const Keys keys = keys_of(hold.claim.name);
  Word word = word_of(hold.claim, hold.token, runtime_.wall());
  const auto known = known_.find(hold.claim.id);
  const std::optional<Stamp> stamp = known == known_.end() ? std::nullopt : known->second.stamp;
  const Result<Kept> kept =
      co_await node_.renew(keys, std::move(word), ItemTtl(hold.claim.ttl), stamp, deadline);
  if (!kept) {
    outcome = kept.failure();
    co_return;
  }
  if (kept->held && known_.contains(hold.claim.id)) known_[hold.claim.id].stamp = kept->stamp;
  outcome = Standing{kept->held ? Standing::Kind::held : Standing::Kind::lost, kept->sent_at};
}

Task<std::vector<Result<Standing>>> MemcachedVoter::renew(std::vector<Hold> holds,
                                                          Deadline deadline) {
  std::vector<Result<Standing>> outcomes(holds.size(),
                                         Failure(Code::unreachable, display() + ": not connected"));
  if (!node_.connection().connected()) co_return outcomes;
  TaskGroup group(runtime_);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    group.spawn(renew_one(holds[i], deadline, outcomes[i]));
  }
  static_cast<void>(co_await group.join(Deadline::never()));
  co_return outcomes;
}

Task<Result<bool>> MemcachedVoter::release(const Claim& claim, const Return& how,
                                           Deadline deadline) {
  std::optional<Stamp> stamp;
  const auto known = known_.find(claim.id);
  if (known != known_.end()) {
    if (known->second.attempt > how.attempt) co_return false;  // A later one is not ours to end.
    stamp = known->second.stamp;
    if (how.ticket) {
      known->second.stamp.reset();
    } else {
      known_.erase(known);
    }
  }
  if (!node_.connection().connected()) {
    co_return Failure(Code::unreachable, display() + ": not connected");
  }
  const Keys keys = keys_of(claim.name);
  co_return co_await node_.release(keys, claim.id, stamp, deadline);
}

// ---- Showing and breaking ----------------------------------------------------------------------

Task<Result<bool>> MemcachedVoter::evict(const Name& name, Token token, Deadline deadline) {
  const Keys keys = keys_of(name);
  co_return co_await node_.evict(keys, token, deadline);
}

Task<Result<LockInfo>> MemcachedVoter::inspect(const Name& name, Deadline deadline) {
  const Keys keys = keys_of(name);
  const Result<Sight> seen = co_await node_.look(keys, deadline);
  if (!seen) co_return seen.failure();
  LockInfo info{.name = name};
  if (seen->present) info.holders.push_back(holder_info(*seen, runtime_.wall()));
  if (seen->word) info.last_token = seen->word->token;
  co_return info;
}

Task<Result<std::vector<Name>>> MemcachedVoter::names(const std::string& prefix,
                                                      Deadline deadline) {
  const Result<std::vector<Sight>> words = co_await node_.list(settings_.prefix, prefix, deadline);
  if (!words) co_return words.failure();
  std::vector<Name> names;
  for (const Sight& seen : *words) names.emplace_back(seen.word->name);
  co_return names;
}

}  // namespace holdfast::internal::memcached
