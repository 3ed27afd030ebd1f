#include "engines/etcd/sessions.h"

#include <algorithm>

#include "base/require.h"

namespace holdfast::internal::etcd {

namespace {

constexpr std::size_t kMaxOrphans = 1000;
// No arithmetic with a number from a server may overflow.
constexpr std::int64_t kMaxSeconds = 1'000'000'000;

// etcd counts leases in seconds; ours must not be shorter than the ttl.
std::int64_t seconds_of(Duration ttl) {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(ttl).count());
}

// How often a session is confirmed. A grant counts from the last confirmation: so much of its ttl it loses at most.
Duration pause_of(const Session& session) {
  return std::clamp<Duration>(session.ttl / 10, std::chrono::milliseconds(20),
                              std::chrono::seconds(10));
}

// For the next claim, which may come soon.
Duration linger_of(const Session& session) {
  return std::max<Duration>(session.ttl, std::chrono::seconds(10));
}

}  // namespace

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<SessionPtr>> Sessions::open(std::int64_t ttl_s, bool shared, Deadline deadline,
                                        std::stop_token stop) {
  const std::string request = encode_lease_grant(ttl_s);
  const Result<Answer<LeaseAnswer>> answer =
      co_await cluster_.lease(Method::lease_grant, request, deadline, std::move(stop));
  if (!answer) co_return answer.failure();
  const LeaseAnswer& lease = answer->message;
  if (lease.id == 0 || lease.ttl_s <= 0) {
    co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
  }
  auto session = std::make_shared<Session>();
  session->lease = lease.id;
  session->ttl = std::chrono::seconds(std::min<std::int64_t>(lease.ttl_s, kMaxSeconds));
  session->ttl_s = ttl_s;
  session->term = lease.header.term;
  session->confirmed = answer->sent_at;
  session->shared = shared;
  session->unused_since = runtime_.now();
  kept_.insert(session);
  background_.spawn(keep(session));
  co_return session;
}

Task<void> Sessions::open_in_background(std::int64_t ttl_s, std::shared_ptr<Shared> shared) {
  const Result<SessionPtr> opened = co_await open(ttl_s, true, cluster_.request_deadline(), {});
  shared->opening = false;
  if (opened) shared->session = *opened;
  shared->outcome = opened ? Result<void>() : Result<void>(opened.failure());
  shared->opened.set();
}

Task<Result<SessionPtr>> Sessions::of_ttl(Duration ttl, std::string key, Deadline deadline,
                                          std::stop_token stop) {
  const std::int64_t ttl_s = seconds_of(ttl);
  std::shared_ptr<Shared>& of_this_ttl = shared_[ttl_s];
  if (!of_this_ttl) of_this_ttl = std::make_shared<Shared>(runtime_);
  const std::shared_ptr<Shared> shared = of_this_ttl;  // close() may drop it meanwhile.
  for (;;) {
    const SessionPtr session = shared->session;
    const bool usable = session && session->usable();
    // A grant counts from the last confirmation, and should be worth something.
    if (usable && runtime_.now() < session->confirmed + session->ttl / 2) co_return session;
    if (usable) {
      const Result<void> fresh = co_await refresh(session, key, deadline);
      if (fresh) continue;
      if (fresh.code() != Code::not_held && !session->outdated) co_return fresh.failure();
    }
    if (!shared->opening) {
      shared->opening = true;
      shared->opened.reset();
      background_.spawn(open_in_background(ttl_s, shared));
    }
    const Woken woken = co_await shared->opened.wait(deadline, stop);
    if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
    if (woken == Woken::timed_out) {
      co_return cluster_.failed(Code::unreachable, "no lease in time");
    }
    if (!shared->outcome) co_return shared->outcome.failure();
  }
}

Task<Result<SessionPtr>> Sessions::own(Duration ttl, Deadline deadline, std::stop_token stop) {
  co_return co_await open(seconds_of(ttl), false, deadline, std::move(stop));
}

SessionPtr Sessions::find(LeaseId lease) const {
  for (const SessionPtr& session : kept_) {
    if (session->lease == lease) return session;
  }
  return nullptr;
}

void Sessions::forget(const SessionPtr& session) { kept_.erase(session); }

void Sessions::give_back(const SessionPtr& session) {
  if (kept_.erase(session) != 0 && !session->lost) background_.spawn(revoke(session->lease));
}

Task<void> Sessions::revoke(LeaseId lease) {
  const std::string request = encode_lease(lease);
  static_cast<void>(
      co_await cluster_.call(Method::lease_revoke, request, cluster_.request_deadline()));
}

// ---- Keeping alive -----------------------------------------------------------------------------

Task<Result<KeepAlive>> Sessions::keep_alive(Session& session, Deadline deadline) {
  const std::string request = encode_lease(session.lease);
  const Result<Answer<LeaseAnswer>> answer =
      co_await cluster_.lease(Method::lease_keep_alive, request, deadline);
  const bool gone =
      answer ? answer->message.ttl_s <= 0 : Cluster::is_lease_not_found(answer.failure());
  if (gone) {
    lose(session);
    co_return Failure(Code::not_held, "the lease has ended");
  }
  if (!answer) co_return answer.failure();
  const LeaseAnswer& lease = answer->message;
  session.ttl = std::chrono::seconds(std::min<std::int64_t>(lease.ttl_s, kMaxSeconds));
  if (lease.header.term > session.term) session.outdated = true;
  co_return KeepAlive{answer->sent_at, lease.header.term, answer->connection};
}

bool Sessions::confirm(Session& session, const KeepAlive& keep_alive, const Header& header,
                       std::uint64_t connection) {
  if (connection != keep_alive.connection || header.term != keep_alive.term) return false;
  // (An earlier term: the cluster was restored from a backup.)
  if (keep_alive.term != session.term) session.outdated = true;
  if (session.outdated) return false;
  session.confirmed = std::max(session.confirmed, keep_alive.sent_at);
  return true;
}

Task<Result<void>> Sessions::refresh(SessionPtr session, std::string key, Deadline deadline) {
  for (;;) {
    const Result<KeepAlive> alive = co_await keep_alive(*session, deadline);
    if (!alive) co_return alive.failure();
    if (session->outdated) {
      co_return cluster_.failed(Code::unreachable, "there is another leader, and the lease is old");
    }
    Range read{.key = key, .end = {}, .keys_only = true};
    const Result<Answer<RangeAnswer>> answer = co_await cluster_.range(std::move(read), deadline);
    if (!answer) co_return answer.failure();
    if (confirm(*session, *alive, answer->message.header, answer->connection)) {
      co_return Result<void>();
    }
    // There is another leader, or we have moved: once more.
  }
}

Task<Result<Sessions::Presence>> Sessions::check_keys(SessionPtr session, KeepAlive keep_alive,
                                                      KeyRevisions keys, Deadline deadline) {
  HOLDFAST_REQUIRE(keys.size() <= kMaxKeysInTxn);
  Txn txn;
  for (const auto& [key, token] : keys) txn.if_created_at(key, token);
  // A transaction that reads nothing would not be linearizable.
  const std::string& read = keys.empty() ? session->readable : keys.front().first;
  txn.range(Txn::Branch::then, Range{.key = read, .end = {}, .keys_only = true});
  for (const auto& [key, token] : keys) {
    txn.range(Txn::Branch::otherwise, Range{.key = key, .end = {}, .keys_only = true});
  }
  const Result<Answer<TxnAnswer>> answer = co_await cluster_.read(std::move(txn), deadline);
  if (!answer) co_return answer.failure();
  const TxnAnswer& seen = answer->message;
  Presence presence;
  presence.confirmed = confirm(*session, keep_alive, seen.header, answer->connection);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const KeyValue* const pair = seen.succeeded ? nullptr : seen.first(i);
    presence.present.push_back(seen.succeeded || (pair && pair->created == keys[i].second));
  }
  co_return presence;
}

Task<Result<SessionPtr>> Sessions::move_key(std::string key, Revision token, Duration ttl,
                                            SessionPtr from, bool to_own, Deadline deadline) {
  Result<SessionPtr> next = Failure(Code::unreachable, "");
  if (to_own) {
    next = co_await own(ttl, deadline, {});
  } else {
    next = co_await of_ttl(ttl, key, deadline, {});
  }
  if (!next) co_return next.failure();
  Txn txn;
  txn.if_created_at(key, token).put_lease(Txn::Branch::then, key, (*next)->lease);
  const Result<Answer<TxnAnswer>> moved = co_await cluster_.txn(std::move(txn), deadline);
  if (!moved) {
    // If it was executed, the lease carries the key: it must not be revoked.
    if (to_own) forget(*next);
    co_return moved.failure();
  }
  if (!moved->message.succeeded) {
    if (to_own) give_back(*next);
    co_return Failure(Code::not_held, "its key is gone");
  }
  if (!from->shared) {
    forget(from);
    // (One that another process has made may carry more than this key.)
    if (!from->lost && from->term != 0) background_.spawn(revoke(from->lease));
  }
  co_return *next;
}

void Sessions::lose(Session& session) {
  if (session.lost) return;
  session.lost = true;
  if (on_lost) on_lost();
  for (const auto& [key, held] : session.held) {
    if (on_gone) on_gone(held->id);
  }
}

void Sessions::retire(Session& session, const std::string& key) {
  if (!session.shared) return;  // It has one claim only, and ends with it.
  session.retired = true;
  if (session.orphans.size() < kMaxOrphans) session.orphans.insert(key);
}

Task<void> Sessions::keep(SessionPtr session) {
  for (BootTime next = session->confirmed + pause_of(*session);;
       next = runtime_.now() + pause_of(*session)) {
    const Woken woken = co_await sleep_until(runtime_, next, background_.stop_token());
    if (woken == Woken::cancelled || session->lost || !kept_.contains(session)) break;
    const bool unused = session->users == 0 && session->held.empty();
    const BootTime over = session->unused_since + linger_of(*session);
    if (session->shared && unused && (!session->usable() || runtime_.now() >= over)) {
      const auto found = shared_.find(session->ttl_s);
      if (found != shared_.end() && found->second->session == session) {
        found->second->session.reset();
      }
      give_back(session);
      break;
    }
    const Duration patience = std::max<Duration>(session->ttl / 4, std::chrono::milliseconds(500));
    const Deadline deadline = cluster_.request_deadline(Deadline::at(runtime_.now() + patience));
    co_await end_overdue(session, deadline);
    co_await remove_orphans(session, deadline);
    co_await check(session, deadline);
  }
  kept_.erase(session);
}

Task<void> Sessions::check(SessionPtr session, Deadline deadline) {
  const Result<KeepAlive> alive = co_await keep_alive(*session, deadline);
  if (!alive) co_return;
  // Somebody may have deleted a key.
  KeyRevisions keys;
  std::vector<ClaimId> ids;
  for (const auto& [key, held] : session->held) {
    if (keys.size() == kMaxKeysInTxn) break;
    keys.emplace_back(key, held->token);
    ids.push_back(held->id);
  }
  if (keys.empty() && session->readable.empty()) co_return;
  const Result<Presence> seen = co_await check_keys(session, *alive, keys, deadline);
  if (!seen) co_return;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto still = session->held.find(keys[i].first);
    if (seen->present[i] || still == session->held.end()) continue;
    if (still->second->token == keys[i].second && on_gone) on_gone(ids[i]);
  }
}

Task<void> Sessions::end_overdue(SessionPtr session, Deadline deadline) {
  KeyRevisions overdue;
  for (const auto& [key, held] : session->held) {
    if (runtime_.now() >= held->ends_at) overdue.emplace_back(key, held->token);
  }
  for (const auto& [key, token] : overdue) {
    const auto now_held = session->held.find(key);
    if (now_held == session->held.end() || runtime_.now() < now_held->second->ends_at) continue;
    Txn txn;
    txn.if_created_at(key, token).remove(Txn::Branch::then, key);
    const Result<Answer<TxnAnswer>> removed = co_await cluster_.txn(std::move(txn), deadline);
    if (!removed) co_return;
    const auto still = session->held.find(key);
    if (still != session->held.end() && still->second->token == token) session->held.erase(still);
  }
}

Task<void> Sessions::remove_orphans(SessionPtr session, Deadline deadline) {
  const std::set<std::string> orphans = session->orphans;
  for (const std::string& key : orphans) {
    Txn txn;
    txn.if_present(key).remove(Txn::Branch::then, key);
    const Result<Answer<TxnAnswer>> removed = co_await cluster_.txn(std::move(txn), deadline);
    if (!removed) co_return;
  }
}

Task<void> Sessions::close(Deadline deadline) {
  background_.stop();
  shared_.clear();
  const std::set<SessionPtr> kept = std::exchange(kept_, {});
  for (const SessionPtr& session : kept) {
    if (!session->lost && session->shared) background_.spawn(revoke(session->lease));
  }
  static_cast<void>(co_await background_.join(deadline));
}

}  // namespace holdfast::internal::etcd
