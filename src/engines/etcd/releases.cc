#include "engines/etcd/releases.h"

namespace holdfast::internal::etcd {

Task<Result<std::optional<KeyValue>>> find_claim(Cluster& cluster, Claim claim, std::string key,
                                                 Deadline deadline) {
  const Keys keys = cluster.keys_of(claim.name);
  Range wanted{.key = key, .end = {}};
  if (key.empty()) wanted = Range{.key = keys.base, .end = keys.end};
  const Result<Answer<RangeAnswer>> found = co_await cluster.range(std::move(wanted), deadline);
  if (!found) co_return found.failure();
  for (const KeyValue& pair : found->message.pairs) {
    const Entry entry = entry_of(keys, pair);
    if (!entry.foreign && entry.id == claim.id) co_return pair;
  }
  co_return std::nullopt;
}

Task<Result<bool>> Releases::release(Claim claim, Deadline deadline) {
  claims_.end_acquisition(claim.id);
  HeldKey* const found = claims_.held(claim.id);
  if (!found) {
    const std::optional<KeySlot> slot = claims_.slots.find(claim.id);
    std::string key = slot ? cluster_.keys_of(claim.name).at(claim, *slot) : std::string();
    Result<bool> ended = co_await remove(claim, std::move(key), deadline);
    // (While it is being acquired, its slot is the acquisition's to leave.)
    if (ended && !claims_.acquiring(claim.id)) claims_.slots.retire(claim.id);
    if (ended) claims_.forget(claim.id);
    co_return ended;
  }
  // From here on nobody renews it, and if we do not succeed it ends with its ttl.
  const HeldKey held = *found;
  if (held.unsure) sessions_.retire(*held.session, held.key);
  found->ending = true;
  const bool only_ours =
      !held.unsure && !held.ending && claims_.slots.find(claim.id) && !claims_.acquiring(claim.id);
  Result<bool> ended = co_await give_back(held, only_ours, deadline);
  if (!ended) co_return ended;
  claims_.forget(claim.id);
  if (!held.session->shared && !held.session->lost) {
    background_.spawn(sessions_.revoke(held.session->lease));
  }
  co_return ended;
}

// A key in a slot of ours is this claim's and nobody else's until its removal has been answered, and
// only then another claim of ours gets the slot. So it is simply removed: a comparison could find
// nothing else there, and costs etcd 3.4 a copy of all that was written lately. But if it is not sure
// that a request has had its only effect (one that was not answered, and may yet be executed), the key
// is removed by its revision, and nobody gets the slot.
Task<Result<bool>> Releases::give_back(HeldKey held, bool only_ours, Deadline deadline) {
  bool ended = false;
  bool repeated = true;
  if (only_ours) {
    const auto removed = co_await cluster_.remove(held.key, deadline);
    if (!removed) co_return removed.failure();
    repeated = removed->repeated;
    const std::vector<KeyValue>& pairs = removed->message;
    ended = !pairs.empty() && pairs.front().created == held.token;
  } else {
    Txn txn;
    txn.if_created_at(held.key, held.token).remove(Txn::Branch::then, held.key);
    const auto removed = co_await cluster_.txn(std::move(txn), deadline);
    if (!removed) co_return removed.failure();
    repeated = removed->repeated;
    ended = removed->message.succeeded;
  }
  if (!claims_.acquiring(held.id)) claims_.slots.leave(held.id, only_ours && !repeated);
  // Nothing there the second time: the first attempt may have ended it.
  co_return ended || repeated;
}

Task<Result<bool>> Releases::remove(Claim claim, std::string key, Deadline deadline) {
  const Keys keys = cluster_.keys_of(claim.name);
  bool repeated = false;
  for (;;) {
    const auto found = co_await find_claim(cluster_, claim, key, deadline);
    if (!found) co_return found.failure();
    if (!*found) co_return repeated;
    key = (*found)->key;
    Txn txn;  // Did it hold?
    txn.if_created_at(key, (*found)->created);
    add_reads(txn, Txn::Branch::then, keys, claim, key, (*found)->created);
    txn.remove(Txn::Branch::then, key);
    const auto answer = co_await cluster_.txn(std::move(txn), deadline);
    if (!answer) co_return answer.failure();
    // Nothing there the second time: the first attempt may have ended it.
    repeated = repeated || answer->repeated;
    if (!answer->message.succeeded) continue;
    const Position position = position_of(keys, claim, answer->message);
    // A hold that outlives its process has a lease of its own, of no use now.
    if (claim.outlives_process) background_.spawn(sessions_.revoke(position.lease));
    co_return position.state == Position::State::holds;
  }
}

}  // namespace holdfast::internal::etcd
