#include "engines/etcd/queue_key.h"

#include <algorithm>

namespace holdfast::internal::etcd {

namespace {

using Branch = Txn::Branch;
using State = Position::State;

}  // namespace

QueueKey::QueueKey(Runtime& runtime, Cluster& cluster, Claims& claims, const Claim& claim,
                   const Wait& wait)
    : runtime_(runtime),
      cluster_(cluster),
      claims_(claims),
      claim_(claim),
      wait_(wait),
      keys_(cluster.keys_of(claim.name)),
      // A hold that outlives this process must be found by others.
      key_(claim.outlives_process ? keys_.of(claim) : keys_.at(claim, claims.slots.take(claim))),
      since_(runtime.wall()) {}

std::string QueueKey::note(bool granted) const {
  return Note{.id = claim_.id,
              .granted = granted,
              .ttl = claim_.ttl,
              .since = since_,
              .label = claim_.label}
      .encode();
}

Deadline QueueKey::answer_deadline() const {
  constexpr Duration kGrace = std::chrono::milliseconds(250);
  return cluster_.request_deadline(wait_.deadline).later(runtime_.now() + kGrace);
}

// ---- Putting the key ---------------------------------------------------------------------------

Task<Result<Answer<TxnAnswer>>> QueueKey::send(Txn txn) {
  // A request that is overtaken by its own withdrawal would leave its key behind. So its answer is waited for
  // even when the caller gives up, unless it takes too long.
  constexpr Duration kNear = std::chrono::seconds(1);
  clean_ = false;
  Result<Answer<TxnAnswer>> answer = Failure(Code::unknown, "not answered");
  Event answered(runtime_);
  const auto ask = [&](Txn request, Deadline deadline) -> Task<void> {
    answer = co_await cluster_.txn(std::move(request), deadline);
    answered.set();
  };
  TaskGroup group(runtime_);
  group.spawn(ask(std::move(txn), answer_deadline()));
  if (co_await answered.wait(Deadline::never(), wait_.stop) == Woken::cancelled) {
    co_await answered.wait(Deadline::at(runtime_.now() + kNear));
  }
  if (answer && answer->message.parts.empty()) {
    answer = cluster_.failed(Code::unknown, "an answer that makes no sense");
  }
  if (answer ? answer->repeated : answer.code() == Code::unknown) unsure_ = true;
  if (answer) answered_at_ = runtime_.now();
  co_return answer;
}

Position QueueKey::learn(const TxnAnswer& answer) {
  Position position = position_of(keys_, claim_, answer);
  if (position.state == State::absent && !unsure_) clean_ = true;
  if (position.created != 0) {
    created_ = position.created;
    lease_ = position.lease;
    entered_ = true;
  }
  return position;
}

Position QueueKey::position_after_put(TxnAnswer answer, const SessionPtr& session) {
  const bool put = answer.succeeded;
  if (put && !answer.parts.empty()) {  // A value that was put needs not be read.
    const Revision now = answer.header.revision;
    answer.parts.front().pairs = {KeyValue{key_, note(false), now, now, session->lease}};
  }
  Position position = learn(answer);
  if (!put && position.created != 0) found_ = true;
  if (session->readable.empty()) session->readable = key_;
  return position;
}

Task<Result<Position>> QueueKey::enter(SessionPtr session) {
  EntryLimit::Permit permit(claims_.entry_limit);
  const Woken admitted = co_await permit.admitted.wait(wait_.deadline, wait_.stop);
  if (admitted == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (admitted == Woken::timed_out) co_return Failure::busy({});
  // Behind many others of ours there is nothing to read yet: see LocalQueue.
  const bool behind = claim_.mode == Mode::exclusive && claims_.queue.long_enough(keys_.base);
  Txn txn;
  txn.if_created_at(key_, 0).put(Branch::then, key_, note(false), session->lease);
  if (!behind) add_reads(txn, Branch::then, keys_, claim_, std::string());
  add_reads(txn, Branch::otherwise, keys_, claim_, key_);
  Result<Answer<TxnAnswer>> answer = co_await send(std::move(txn));
  if (!answer) co_return answer.failure();
  Position position = position_after_put(std::move(answer->message), session);
  if (position.created == 0) {  // Another claim has our key.
    clean_ = false;
    co_return cluster_.failed(Code::unknown, "an answer that makes no sense");
  }
  co_return position;
}

Task<Result<Position>> QueueKey::enter_if_free(SessionPtr session) {
  Txn txn;
  if (claim_.mode == Mode::exclusive) {
    txn.if_created_at(keys_.base, 0, keys_.end);
  } else if (claim_.mode == Mode::shared) {
    txn.if_created_at(keys_.base, 0, keys_.shared_begin);
    txn.if_created_at(keys_.shared_end, 0, keys_.end);
  }
  txn.if_created_at(key_, 0).put(Branch::then, key_, note(false), session->lease);
  add_reads(txn, Branch::then, keys_, claim_, std::string(), 0, Detail::with_holder);
  add_reads(txn, Branch::otherwise, keys_, claim_, key_, 0, Detail::with_holder);
  Result<Answer<TxnAnswer>> answer = co_await send(std::move(txn));
  if (!answer) co_return answer.failure();
  co_return position_after_put(std::move(answer->message), session);
}

// ---- Reading the queue -------------------------------------------------------------------------

Task<Result<Position>> QueueKey::read(Detail detail) {
  Revision created = created_;
  for (;;) {
    Txn txn;
    add_reads(txn, Branch::then, keys_, claim_, key_, created, detail);
    const Result<Answer<TxnAnswer>> answer =
        co_await cluster_.read(std::move(txn), answer_deadline(), wait_.stop);
    if (!answer) co_return answer.failure();
    if (answer->message.parts.empty()) {
      co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
    }
    answered_at_ = runtime_.now();
    const Position position = learn(answer->message);
    if (position.state != State::hidden || position.created == created) co_return position;
    created = position.created;  // Now that it is known, the keys before it can be asked for.
  }
}

Task<Result<bool>> QueueKey::unchanged(std::vector<Predecessor>& predecessors, Position& position) {
  Txn txn;
  txn.range(Branch::then, Range{.key = key_, .end = {}});
  for (const Predecessor& one : predecessors) {
    txn.range(Branch::then, Range{.key = one.key, .end = {}});
  }
  const Result<Answer<TxnAnswer>> answer =
      co_await cluster_.read(std::move(txn), answer_deadline(), wait_.stop);
  if (!answer) co_return answer.failure();
  answered_at_ = runtime_.now();
  const TxnAnswer& seen = answer->message;
  const KeyValue* const own = seen.first(0);
  if (!own || own->created != position.created) co_return false;
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    Predecessor& one = predecessors[i];
    const KeyValue* const pair = seen.first(i + 1);
    if (!pair || pair->created != one.created) co_return false;
    const WatchEvent as_told{.removed = false, .pair = *pair};
    if (effect_of(one, keys_, claim_, as_told) != Effect::none) co_return false;
  }
  position.seen_at = seen.header.revision;
  co_return true;
}

Task<Result<void>> QueueKey::find_predecessors_of_all() {
  Range all{.key = keys_.base, .end = keys_.end, .keys_only = true};
  const Result<Answer<RangeAnswer>> answer =
      co_await cluster_.range(std::move(all), answer_deadline(), wait_.stop);
  if (!answer) co_return answer.failure();
  answered_at_ = runtime_.now();
  std::vector<KeyValue> pairs = answer->message.pairs;
  std::ranges::sort(pairs, {}, &KeyValue::created);
  claims_.queue.for_each_unsure(keys_.base, [&](LocalQueue<Predecessor>::Entry& entry) {
    const auto order = static_cast<Revision>(entry.order());
    const auto own = std::ranges::lower_bound(pairs, order, {}, &KeyValue::created);
    // Not there yet, not there any more, or the first of all: then it reads for itself.
    if (own == pairs.end() || own == pairs.begin()) return;
    if (own->created != order || own->key != entry.name()) return;
    const Entry before = entry_of(keys_, *std::prev(own));
    entry.before = Predecessor{.key = before.key,
                               .created = before.created,
                               .mode = before.mode,
                               .end_grants = std::prev(own) == pairs.begin()};
  });
  co_return Result<void>();
}

}  // namespace holdfast::internal::etcd
