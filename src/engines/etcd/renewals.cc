#include "engines/etcd/renewals.h"

#include <algorithm>
#include <map>

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::etcd {

Failure no_longer_held(const Claim& claim) {
  return Failure(Code::not_held, "the lock '" + claim.name.display() +
                                     "' is not held by this claim any more: its lease ended, or it "
                                     "was released or taken away");
}

Task<std::vector<Result<Grant>>> Renewals::renew(std::span<const Hold> holds, Deadline deadline) {
  std::vector<Result<Grant>> outcomes(holds.size(), Failure(Code::unreachable, "not asked"));
  std::map<SessionPtr, std::vector<Item>> by_session;
  std::vector<Item> unknown;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const Claim& claim = holds[i].claim;
    const Holding* const holding = holdings_.find(claim.id);
    Item item{&holds[i], holding ? holding->key : std::string(), &outcomes[i]};
    if (holding && holding->session->lost && !holding->moving) {
      outcomes[i] = no_longer_held(claim);
    } else if (holding) {
      by_session[holding->session].push_back(std::move(item));
    } else {
      unknown.push_back(std::move(item));
    }
  }
  std::vector<SessionPtr> found(unknown.size());
  if (!unknown.empty()) {
    TaskGroup searches(runtime_);
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      searches.spawn(find_session(unknown[i], deadline, found[i]));
    }
    static_cast<void>(co_await searches.join(Deadline::never()));
  }
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (!found[i]) continue;
    unknown[i].key = holdings_.find(unknown[i].hold->claim.id)->key;
    by_session[found[i]].push_back(unknown[i]);
  }
  TaskGroup group(runtime_);
  for (auto& [session, items] : by_session) {
    group.spawn(renew_session(session, std::move(items), deadline));
  }
  static_cast<void>(co_await group.join(Deadline::never()));
  co_return outcomes;
}

Task<void> Renewals::find_session(Item item, Deadline deadline, SessionPtr& session) {
  const Claim& claim = item.hold->claim;
  const Keys keys(prefix_, claim.name);
  const Result<std::optional<KeyValue>> found =
      co_await find_claim(cluster_, keys, claim, std::string(), deadline);
  if (!found) {
    *item.outcome = unreachable_instead_of_unknown(found.failure());
    co_return;
  }
  const std::optional<KeyValue>& pair = *found;
  const auto token = static_cast<Revision>(item.hold->token.value());
  if (!pair || pair->created != token || pair->lease == 0) {
    *item.outcome = no_longer_held(claim);
    co_return;
  }
  session = std::make_shared<Session>();
  session->lease = pair->lease;
  session->shared = false;
  // It was granted for this ttl or more; how long the server says is told by the keep-alive.
  session->ttl = claim.ttl;
  holdings_.remember(claim, Holding{session, pair->key, token}, {});
}

Task<void> Renewals::renew_session(SessionPtr session, std::vector<Item> items, Deadline deadline) {
  // Not more than etcd takes in one transaction (--max-txn-ops is 128 by default).
  constexpr std::size_t kPart = 100;
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
    const Result<Sign> sign = co_await sessions_.keep_alive(*session, deadline);
    if (!sign) {
      all_failed(begin, sign.failure());
      co_return;
    }
    bool confirmed = !session->outdated;
    while (confirmed && begin < items.size()) {
      const std::size_t size = std::min(kPart, items.size() - begin);
      const Result<bool> done =
          co_await renew_part(*session, std::span(items).subspan(begin, size), *sign, deadline);
      if (!done) {
        all_failed(begin, done.failure());
        co_return;
      }
      confirmed = *done;
      if (confirmed) begin += size;
    }
  }
}

Task<void> Renewals::move(SessionPtr session, std::vector<Item> items, Deadline deadline) {
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
  const Token token = item.hold->token;
  holdings_.begin_to_move(claim.id);
  const Result<SessionPtr> next = co_await sessions_.replace(
      session, claim.ttl, item.key, static_cast<Revision>(token.value()), deadline);
  if (!next && next.code() != Code::not_held) {
    *item.outcome = next.failure();
    co_return;
  }
  const Holding* const found = holdings_.find(claim.id);
  if (!next || !found) {  // It may have been released meanwhile.
    holdings_.forget(claim.id);
    *item.outcome = no_longer_held(claim);
    co_return;
  }
  Holding holding = *found;
  holding.session = *next;
  holding.moving = false;
  holdings_.forget(claim.id);
  holdings_.remember(claim, std::move(holding), (*next)->confirmed + claim.ttl);
  if (!(*next)->shared) sessions_.forget(*next);
  *item.outcome = Grant{token, (*next)->confirmed, std::min(claim.ttl, (*next)->ttl)};
}

Task<Result<bool>> Renewals::renew_part(Session& session, std::span<Item> items, const Sign& sign,
                                        Deadline deadline) {
  Txn txn;
  for (const Item& item : items) {
    txn.if_created_at(item.key, static_cast<Revision>(item.hold->token.value()));
  }
  // A transaction that reads nothing would not be linearizable.
  const Range one{.key = items.front().key, .end = {}, .keys_only = true};
  txn.range(Txn::Branch::then, one);
  for (const Item& item : items) {
    txn.range(Txn::Branch::otherwise, Range{.key = item.key, .end = {}, .keys_only = true});
  }
  const Result<Answer> answer = co_await cluster_.call(Method::txn, txn.encode(), deadline);
  if (!answer && answer.code() == Code::unknown) {
    co_return Failure(Code::unreachable, answer.message());
  }
  if (!answer) co_return answer.failure();
  const std::optional<TxnAnswer> seen = decode_txn(answer->message);
  if (!seen) co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
  if (!Sessions::confirm(session, sign, seen->header, answer->connection)) co_return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const Claim& claim = item.hold->claim;
    const KeyValue* const pair = seen->first(i);
    const bool there = seen->succeeded ||
                       (pair && pair->created == static_cast<Revision>(item.hold->token.value()));
    if (!there) {
      holdings_.forget(claim.id);
      *item.outcome = no_longer_held(claim);
      continue;
    }
    const Duration ttl = std::min(claim.ttl, session.ttl);
    holdings_.renewed(claim.id, sign.sent_at + claim.ttl);
    *item.outcome = Grant{item.hold->token, sign.sent_at, ttl};
  }
  co_return true;
}

}  // namespace holdfast::internal::etcd
