#include "engines/etcd/renewals.h"

#include <algorithm>
#include <map>

#include "base/unreachable_instead_of_unknown.h"
#include "engines/etcd/releases.h"

namespace holdfast::internal::etcd {

Failure no_longer_held(const Claim& claim) {
  return Failure(Code::not_held, "the lock '" + claim.name.display() +
                                     "' is not held by this claim any more: its lease ended, or it "
                                     "was released or taken away");
}

Task<std::vector<Result<Grant>>> Renewals::renew(std::span<const Hold> holds, Deadline deadline) {
  std::vector<Result<Grant>> outcomes(holds.size(), Failure(Code::unreachable, "not asked"));
  TaskGroup searches(runtime_);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (claims_.held(holds[i].claim.id)) continue;
    searches.spawn(find_session(Item{&holds[i], &outcomes[i]}, deadline));
  }
  if (searches.size() != 0) static_cast<void>(co_await searches.join(Deadline::never()));
  std::map<SessionPtr, Items> by_session;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const HeldKey* const held = claims_.held(holds[i].claim.id);
    if (!held) continue;  // find_session() has said why.
    if (held->session->lost && !held->moving) {
      outcomes[i] = no_longer_held(holds[i].claim);
    } else {
      by_session[held->session].push_back(Item{&holds[i], &outcomes[i], held->key});
    }
  }
  TaskGroup group(runtime_);
  for (auto& [session, items] : by_session) {
    group.spawn(renew_session(session, std::move(items), deadline));
  }
  static_cast<void>(co_await group.join(Deadline::never()));
  co_return outcomes;
}

Task<void> Renewals::find_session(Item item, Deadline deadline) {
  const Claim& claim = item.hold->claim;
  const auto found = co_await find_claim(cluster_, claim, std::string(), deadline);
  if (!found) {
    *item.outcome = found.failure();
    co_return;
  }
  const std::optional<KeyValue>& pair = *found;
  if (!pair || pair->created != item.token() || pair->lease == 0) {
    *item.outcome = no_longer_held(claim);
    co_return;
  }
  auto session = std::make_shared<Session>();
  session->lease = pair->lease;
  session->shared = false;
  // It was granted for this ttl or more; the keep-alive tells how long it is.
  session->ttl = claim.ttl;
  claims_.hold(
      HeldKey{.id = claim.id, .session = session, .key = pair->key, .token = item.token()});
}

Task<void> Renewals::renew_session(SessionPtr session, Items items, Deadline deadline) {
  const auto all_failed = [&](std::size_t from, const Failure& why) {
    for (std::size_t i = from; i < items.size(); ++i) {
      const bool ended = why.code() == Code::not_held;
      *items[i].outcome = ended ? no_longer_held(items[i].hold->claim) : why;
    }
  };
  for (std::size_t begin = 0; begin < items.size();) {
    if (session->outdated || session->lost) {
      items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(begin));
      co_await move(std::move(session), std::move(items), deadline);
      co_return;
    }
    const Result<KeepAlive> alive = co_await sessions_.keep_alive(*session, deadline);
    if (!alive) {
      all_failed(begin, alive.failure());
      co_return;
    }
    bool confirmed = !session->outdated;
    while (confirmed && begin < items.size()) {
      const std::size_t size = std::min(kMaxKeysInTxn, items.size() - begin);
      const auto part = std::span<const Item>(items).subspan(begin, size);
      const Result<bool> done = co_await renew_part(session, part, *alive, deadline);
      if (!done) {
        all_failed(begin, done.failure());
        co_return;
      }
      confirmed = *done;
      if (confirmed) begin += size;
    }
  }
}

Task<Result<bool>> Renewals::renew_part(SessionPtr session, std::span<const Item> items,
                                        KeepAlive keep_alive, Deadline deadline) {
  Sessions::KeyRevisions keys;
  for (const Item& item : items) keys.emplace_back(item.key, item.token());
  const Result<Sessions::Presence> seen =
      co_await sessions_.check_keys(session, keep_alive, std::move(keys), deadline);
  if (!seen) co_return seen.failure();
  if (!seen->confirmed) co_return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Claim& claim = items[i].hold->claim;
    if (!seen->present[i]) {
      claims_.forget(claim.id);
      *items[i].outcome = no_longer_held(claim);
      continue;
    }
    if (HeldKey* held = claims_.held(claim.id)) held->ends_at = keep_alive.sent_at + claim.ttl;
    *items[i].outcome =
        Grant{items[i].hold->token, keep_alive.sent_at, std::min(claim.ttl, session->ttl)};
  }
  co_return true;
}

Task<void> Renewals::move(SessionPtr session, Items items, Deadline deadline) {
  constexpr std::size_t kAtOnce = 100;
  for (std::size_t begin = 0; begin < items.size(); begin += kAtOnce) {
    TaskGroup group(runtime_);
    for (std::size_t i = begin; i < std::min(begin + kAtOnce, items.size()); ++i) {
      group.spawn(move_one(session, items[i], deadline));
    }
    static_cast<void>(co_await group.join(Deadline::never()));
  }
}

Task<void> Renewals::move_one(SessionPtr session, Item item, Deadline deadline) {
  const Claim claim = item.hold->claim;
  if (HeldKey* held = claims_.held(claim.id)) held->moving = true;
  const Result<SessionPtr> next = co_await sessions_.move_key(item.key, item.token(), claim.ttl,
                                                              session, !session->shared, deadline);
  if (!next && next.code() != Code::not_held) {
    *item.outcome = unreachable_instead_of_unknown(next.failure());
    co_return;
  }
  const HeldKey* const found = claims_.held(claim.id);
  if (!next || !found) {  // It may have been released meanwhile.
    claims_.forget(claim.id);
    *item.outcome = no_longer_held(claim);
    co_return;
  }
  HeldKey held = *found;
  held.session = *next;
  held.moving = false;
  held.ends_at = (*next)->confirmed + claim.ttl;
  claims_.hold(std::move(held));
  if (!(*next)->shared) sessions_.forget(*next);
  *item.outcome = Grant{item.hold->token, (*next)->confirmed, std::min(claim.ttl, (*next)->ttl)};
}

}  // namespace holdfast::internal::etcd
