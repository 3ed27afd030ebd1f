#include "engines/etcd/sessions.h"

#include <algorithm>

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::etcd {

namespace {

constexpr std::size_t kMostStrays = 1000;
// Whatever a server says: no arithmetic with it may overflow.
constexpr std::int64_t kMostSeconds = 1'000'000'000;

// etcd counts leases in seconds; ours must not be shorter than the ttl.
std::int64_t seconds_of(Duration ttl) {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(ttl).count());
}

// How often a session is confirmed. A grant counts from the last confirmation: this is what it
// loses at most.
Duration pause_of(const Session& session) {
  return std::clamp<Duration>(session.ttl / 10, std::chrono::milliseconds(20),
                              std::chrono::seconds(10));
}

// For whoever comes back soon.
Duration linger_of(const Session& session) {
  return std::max<Duration>(session.ttl, std::chrono::seconds(10));
}

}  // namespace

Sessions::Sessions(Runtime& runtime, Cluster& cluster, Duration request_timeout)
    : runtime_(runtime),
      cluster_(cluster),
      request_timeout_(request_timeout),
      background_(runtime) {}

Sessions::~Sessions() { background_.abandon(); }

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<SessionPtr>> Sessions::open(std::int64_t ttl_s, bool shared, Deadline deadline,
                                        std::stop_token stop) {
  const std::string request = encode_lease_grant(ttl_s);
  const Result<Answer> answer =
      co_await cluster_.call(Method::lease_grant, request, deadline, std::move(stop));
  // A lease that nobody knows of ends by itself, with nothing on it.
  if (!answer && answer.code() == Code::unknown) {
    co_return Failure(Code::unreachable, answer.message());
  }
  if (!answer) co_return answer.failure();
  const std::optional<LeaseAnswer> lease = decode_lease(answer->message);
  if (!lease || lease->id == 0 || lease->ttl_s <= 0) {
    co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
  }
  auto session = std::make_shared<Session>();
  session->lease = lease->id;
  session->ttl = std::chrono::seconds(std::min<std::int64_t>(lease->ttl_s, kMostSeconds));
  session->ttl_s = ttl_s;
  session->term = lease->header.term;
  session->confirmed = answer->sent_at;
  session->shared = shared;
  session->unused_since = runtime_.now();
  kept_.insert(session);
  background_.spawn(keep(session));
  co_return session;
}

Task<void> Sessions::open_in_background(std::int64_t ttl_s, std::shared_ptr<Slot> slot) {
  const Deadline deadline = Deadline::at(runtime_.now() + request_timeout_);
  const Result<SessionPtr> opened = co_await open(ttl_s, true, deadline, {});
  slot->opening = false;
  if (opened) slot->session = *opened;
  slot->outcome = opened ? Result<void>() : Result<void>(opened.failure());
  slot->opened.set();
}

Task<Result<SessionPtr>> Sessions::of_ttl(Duration ttl, std::string key, Deadline deadline,
                                          std::stop_token stop) {
  const std::int64_t ttl_s = seconds_of(ttl);
  std::shared_ptr<Slot>& place = slots_[ttl_s];
  if (!place) place = std::make_shared<Slot>(runtime_);
  const std::shared_ptr<Slot> slot = place;
  for (;;) {
    const SessionPtr session = slot->session;
    // One that was not confirmed for long would make a grant of no worth.
    const bool usable = session && !session->lost && !session->retired && !session->outdated;
    if (usable && runtime_.now() < session->confirmed + session->ttl / 2) co_return session;
    if (usable) {
      const Result<void> fresh = co_await refresh(session, key, deadline);
      if (fresh) continue;
      if (fresh.code() != Code::not_held && !session->outdated) co_return fresh.failure();
    }
    if (!slot->opening) {
      slot->opening = true;
      slot->opened.reset();
      background_.spawn(open_in_background(ttl_s, slot));
    }
    const Woken woken = co_await slot->opened.wait(deadline, stop);
    if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
    if (woken == Woken::timed_out) {
      co_return cluster_.failed(Code::unreachable, "no lease in time");
    }
    if (!slot->outcome) co_return slot->outcome.failure();
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
  const Deadline deadline = Deadline::at(runtime_.now() + request_timeout_);
  static_cast<void>(co_await cluster_.call(Method::lease_revoke, request, deadline));
}

// ---- Keeping alive -----------------------------------------------------------------------------

Task<Result<Sign>> Sessions::keep_alive(Session& session, Deadline deadline) {
  const std::string request = encode_lease(session.lease);
  const Result<Answer> answer = co_await cluster_.call(Method::lease_keep_alive, request, deadline);
  if (!answer && answer.code() == Code::unknown) {
    co_return Failure(Code::unreachable, answer.message());  // Nothing is left behind by it.
  }
  if (!answer && !Cluster::is_lease_not_found(answer.failure())) co_return answer.failure();
  const std::optional<LeaseAnswer> lease =
      answer ? decode_lease(answer->message) : std::optional<LeaseAnswer>(LeaseAnswer());
  if (!lease) co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
  if (lease->ttl_s <= 0) {
    lose(session);
    co_return Failure(Code::not_held, "the lease has ended");
  }
  session.ttl = std::chrono::seconds(std::min<std::int64_t>(lease->ttl_s, kMostSeconds));
  if (lease->header.term > session.term) session.outdated = true;
  co_return Sign{answer->sent_at, lease->header.term, answer->connection};
}

bool Sessions::confirm(Session& session, const Sign& sign, const Header& header,
                       std::uint64_t connection) {
  if (connection != sign.connection || header.term != sign.term) return false;
  // (An earlier term: the cluster was restored from a backup.)
  if (sign.term != session.term) session.outdated = true;
  if (session.outdated) return false;
  session.confirmed = std::max(session.confirmed, sign.sent_at);
  return true;
}

Task<Result<void>> Sessions::refresh(SessionPtr session, std::string key, Deadline deadline) {
  const std::string look = encode(Range{.key = std::move(key), .end = {}, .keys_only = true});
  for (;;) {
    const Result<Sign> sign = co_await keep_alive(*session, deadline);
    if (!sign) co_return sign.failure();
    if (session->outdated) {
      co_return cluster_.failed(Code::unreachable, "there is another leader, and the lease is old");
    }
    const Result<Answer> answer = co_await cluster_.call(Method::range, look, deadline);
    if (!answer) co_return unreachable_instead_of_unknown(answer.failure());
    Header header;
    if (!decode_range(answer->message, &header)) {
      co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
    }
    if (confirm(*session, *sign, header, answer->connection)) co_return Result<void>();
    // There is another leader, or we have moved: once more.
  }
}

Task<Result<SessionPtr>> Sessions::replace(SessionPtr session, Duration ttl, std::string key,
                                           Revision token, Deadline deadline) {
  Result<SessionPtr> next = Failure(Code::unreachable, "");
  if (session->shared) {
    next = co_await of_ttl(ttl, key, deadline, {});
  } else {
    next = co_await own(ttl, deadline, {});
  }
  if (!next) co_return next.failure();
  Txn txn;
  txn.if_created_at(key, token).put_lease(Txn::Branch::then, key, (*next)->lease);
  const Result<Answer> answer = co_await cluster_.call(Method::txn, txn.encode(), deadline);
  const std::optional<TxnAnswer> moved = answer ? decode_txn(answer->message) : std::nullopt;
  if (!moved) {
    // If it was executed, the lease carries the key: it must not be revoked.
    if (!session->shared) forget(*next);
    if (!answer) co_return unreachable_instead_of_unknown(answer.failure());
    co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
  }
  if (!moved->succeeded) {
    if (!session->shared) give_back(*next);
    co_return Failure(Code::not_held, "its key is gone");
  }
  if (!session->shared) {
    forget(session);
    // (One that another process has made may carry more than this key.)
    if (!session->lost && session->term != 0) background_.spawn(revoke(session->lease));
  }
  co_return *next;
}

void Sessions::lose(Session& session) {
  if (session.lost) return;
  session.lost = true;
  if (on_lost) on_lost(session);
  for (const auto& [key, held] : session.held) {
    if (on_gone) on_gone(held.id);
  }
}

void Sessions::retire(Session& session, const std::string& key) {
  if (!session.shared) return;  // It has one claim only, and ends with it.
  session.retired = true;
  if (session.orphans.size() < kMostStrays) session.orphans.insert(key);
}

Task<void> Sessions::keep(SessionPtr session) {
  for (BootTime next = session->confirmed + pause_of(*session);;
       next = runtime_.now() + pause_of(*session)) {
    const Woken woken = co_await sleep_until(runtime_, next, background_.stop_token());
    if (woken == Woken::cancelled || session->lost || !kept_.contains(session)) break;
    const bool unused = session->users == 0 && session->held.empty();
    const BootTime over = session->unused_since + linger_of(*session);
    const bool no_more = session->retired || session->outdated;
    if (session->shared && unused && (no_more || runtime_.now() >= over)) {
      const auto slot = slots_.find(session->ttl_s);
      if (slot != slots_.end() && slot->second->session == session) slot->second->session.reset();
      give_back(session);
      break;
    }
    const Deadline deadline = Deadline::at(
        runtime_.now() +
        std::min<Duration>(request_timeout_,
                           std::max<Duration>(session->ttl / 4, std::chrono::milliseconds(500))));
    co_await look_after(session, deadline);
  }
  kept_.erase(session);
}

Task<void> Sessions::look_after(SessionPtr session, Deadline deadline) {
  // Not more than etcd takes in one transaction (--max-txn-ops is 128 by default).
  constexpr std::size_t kMost = 100;
  co_await end_overdue(session, deadline);
  const Result<Sign> sign = co_await keep_alive(*session, deadline);
  if (!sign) co_return;
  // In the same breath: are the holds still there? Somebody may have deleted a key.
  Txn txn;
  std::vector<std::pair<std::string, HeldKey>> looked;
  for (const auto& [key, held] : session->held) {
    if (looked.size() < kMost) looked.emplace_back(key, held);
  }
  if (looked.empty() && session->readable.empty()) co_return;
  for (const auto& [key, held] : looked) txn.if_created_at(key, held.token);
  // A transaction that reads nothing would not be linearizable.
  const std::string read = looked.empty() ? session->readable : looked.front().first;
  txn.range(Txn::Branch::then, Range{.key = read, .end = {}, .keys_only = true});
  for (const auto& [key, held] : looked) {
    txn.range(Txn::Branch::otherwise, Range{.key = key, .end = {}, .keys_only = true});
  }
  const Result<Answer> answer = co_await cluster_.call(Method::txn, txn.encode(), deadline);
  if (!answer) co_return;
  const std::optional<TxnAnswer> seen = decode_txn(answer->message);
  if (!seen) co_return;
  confirm(*session, *sign, seen->header, answer->connection);
  for (std::size_t i = 0; !seen->succeeded && i < looked.size(); ++i) {
    const auto& [key, held] = looked[i];
    const KeyValue* const pair = seen->first(i);
    if (pair && pair->created == held.token) continue;
    const auto still = session->held.find(key);
    if (still == session->held.end() || still->second.token != held.token) continue;
    if (on_gone) on_gone(held.id);
  }
}

// Holds that nobody renews end here, although the lease lives on; and so does what late requests
// have made.
Task<void> Sessions::end_overdue(SessionPtr session, Deadline deadline) {
  std::vector<std::pair<std::string, Revision>> overdue;
  for (const auto& [key, held] : session->held) {
    if (runtime_.now() >= held.ends_at) overdue.emplace_back(key, held.token);
  }
  for (const auto& [key, token] : overdue) {
    const auto now_held = session->held.find(key);
    if (now_held == session->held.end() || runtime_.now() < now_held->second.ends_at) continue;
    Txn txn;
    txn.if_created_at(key, token).remove(Txn::Branch::then, key);
    const Result<Answer> answer = co_await cluster_.call(Method::txn, txn.encode(), deadline);
    if (!answer) co_return;
    const auto still = session->held.find(key);
    if (still != session->held.end() && still->second.token == token) session->held.erase(still);
  }
  const std::set<std::string> orphans = session->orphans;
  for (const std::string& key : orphans) {
    Txn txn;
    txn.if_present(key).remove(Txn::Branch::then, key);
    if (!co_await cluster_.call(Method::txn, txn.encode(), deadline)) co_return;
  }
}

Task<void> Sessions::close(Deadline deadline) {
  background_.stop();
  slots_.clear();
  const std::set<SessionPtr> kept = std::exchange(kept_, {});
  for (const SessionPtr& session : kept) {
    if (!session->lost && session->shared) background_.spawn(revoke(session->lease));
  }
  static_cast<void>(co_await background_.join(deadline));
}

}  // namespace holdfast::internal::etcd
