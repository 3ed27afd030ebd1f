#include "engines/etcd/etcd_engine.h"

#include <algorithm>

#include "base/known_server.h"
#include "engines/etcd/facts.h"
#include "engines/etcd/lock_view.h"
#include "engines/etcd/renewals.h"
#include "engines/etcd/turn.h"

namespace holdfast::internal {

namespace {

using etcd::Answer;
using etcd::Entry;
using etcd::Holding;
using etcd::Keys;
using etcd::LockSight;
using etcd::Method;
using etcd::Note;
using etcd::Revision;
using etcd::SessionPtr;
using etcd::Turn;
using etcd::Txn;
using etcd::TxnAnswer;
using etcd::Vigil;

class EtcdEngine final : public Engine {
 public:
  EtcdEngine(const etcd::Settings& settings, Runtime& runtime)
      : Engine(runtime),
        known_(etcd_guarantees()),
        common_(runtime, settings),
        renewals_(runtime, common_.cluster, common_.sessions, common_.holdings, settings.prefix),
        view_(runtime, common_.cluster, settings.prefix) {
    common_.sessions.on_gone = [this](const ClaimId& claim) { doubt(claim); };
  }

  const Guarantees& guarantees() const override { return known_.guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override;
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<LockInfo>> watch(const Name& name, Token known, const Wait& wait) override;
  Task<void> close() override;

 private:
  Task<Result<LockSight>> look(const Name& name, const Wait& wait);

  // Asks what the member is, beside what else is asked there, when the connection is another one.
  void meet();
  Task<void> meet_quietly();

  KnownServer known_;
  std::optional<std::uint64_t> met_;  // the connection on which it was asked last
  etcd::Common common_;
  etcd::Renewals renewals_;
  etcd::LockView view_;
};

// ---- Holding -----------------------------------------------------------------------------------

Task<Result<Grant>> EtcdEngine::acquire(const Claim& claim, const Wait& wait) {
  Turn turn(common_, claim, wait);
  Result<Grant> grant = co_await turn.take();
  meet();
  co_return grant;
}

void EtcdEngine::meet() {
  if (!common_.cluster.connected() || met_ == common_.cluster.connection()) return;
  met_ = common_.cluster.connection();
  common_.background.spawn(meet_quietly());
}

Task<void> EtcdEngine::meet_quietly() { static_cast<void>(co_await examine(Deadline::never())); }

Task<Result<Examination>> EtcdEngine::examine(Deadline deadline) {
  std::string where;
  for (const Endpoint& endpoint : common_.settings.endpoints) {
    where += (where.empty() ? "" : ",") + endpoint.display();
  }
  const Deadline limit = common_.request_deadline(deadline);
  const Result<etcd::Facts> facts =
      co_await etcd::ask_facts(common_.cluster, std::move(where), limit);
  if (!facts) co_return facts.failure();
  static_cast<void>(known_.learn(etcd::examined(*facts)));
  co_return *known_.last();
}

Task<std::vector<Result<Grant>>> EtcdEngine::renew(std::span<const Hold> holds, Deadline deadline) {
  const Deadline limit = common_.request_deadline(deadline);
  co_return co_await renewals_.renew(holds, limit);
}

Task<Result<bool>> EtcdEngine::release(const Claim& claim, Deadline deadline) {
  const Deadline limit = common_.request_deadline(deadline);
  if (const auto turn = common_.waiting.find(claim.id); turn != common_.waiting.end()) {
    turn->second->end();
  }
  Revision token = 0;
  SessionPtr session;
  std::string key;
  if (const Holding* holding = common_.holdings.find(claim.id)) {
    token = holding->token;
    session = holding->session;
    key = holding->key;
    if (holding->unsure) common_.sessions.retire(*session, key);
  } else if (const std::optional<etcd::Place> place = common_.places.find(claim.id)) {
    key = Keys(common_.settings.prefix, claim.name).at(claim, *place);
  }
  // From here on nobody renews it, and if we do not succeed it ends with its ttl.
  Result<bool> ended = false;
  if (token != 0) {
    ended = co_await common_.give_back_or_hear(claim, key, token, limit);
  } else {
    ended = co_await common_.remove(claim, key, token, limit);
    // (If it waits, the place is its turn's to leave.)
    if (ended && !common_.waiting.contains(claim.id)) common_.places.burn(claim.id);
  }
  if (!ended) co_return ended;
  common_.holdings.forget(claim.id);
  if (session && !session->shared && !session->lost) {
    common_.background.spawn(common_.sessions.revoke(session->lease));
  }
  co_return ended;
}

Task<Result<void>> EtcdEngine::detach(const Hold& hold, Deadline deadline) {
  const Deadline limit = common_.request_deadline(deadline);
  const Claim& claim = hold.claim;
  const auto token = static_cast<Revision>(hold.token.value());
  const Result<SessionPtr> session = co_await common_.sessions.own(claim.ttl, limit, {});
  if (!session) co_return session.failure();
  // The key keeps its create revision, and so its place and its token.
  const Holding* const holding = common_.holdings.find(claim.id);
  if (!holding) co_return etcd::no_longer_held(claim);
  const std::string key = holding->key;
  const Note note{.id = claim.id,
                  .granted = true,
                  .ttl = claim.ttl,
                  .since = runtime().wall(),
                  .label = claim.label};
  Txn txn;
  txn.if_created_at(key, token).put(Txn::Branch::then, key, note.encode(), (*session)->lease);
  common_.places.burn(claim.id);  // It may outlive this client.
  const Result<Answer> answer = co_await common_.cluster.call(Method::txn, txn.encode(), limit);
  const std::optional<TxnAnswer> moved = answer ? etcd::decode_txn(answer->message) : std::nullopt;
  if (moved && moved->succeeded) {
    common_.sessions.forget(*session);
    common_.holdings.forget(claim.id);
    common_.holdings.remember(claim, Holding{*session, key, token}, {});
    co_return Result<void>();
  }
  if (moved) {
    common_.sessions.give_back(*session);
    co_return etcd::no_longer_held(claim);
  }
  // If it was executed, the lease carries the hold: it must live as long as that.
  common_.sessions.forget(*session);
  co_return Failure(Code::unknown, answer ? "an answer that makes no sense" : answer.message());
}

// ---- Showing and breaking ----------------------------------------------------------------------

Task<Result<LockInfo>> EtcdEngine::inspect(const Name& name, Deadline deadline) {
  const Deadline limit = common_.request_deadline(deadline);
  const Result<LockSight> sight = co_await view_.look(name, limit);
  if (!sight) co_return sight.failure();
  co_return co_await view_.describe(*sight, limit);
}

Task<Result<std::vector<LockInfo>>> EtcdEngine::list(const std::string& prefix, Deadline deadline) {
  const Deadline limit = common_.request_deadline(deadline);
  const Result<std::vector<LockSight>> sights = co_await view_.look_at_all(prefix, limit);
  if (!sights) co_return sights.failure();
  std::vector<LockInfo> all;
  for (const LockSight& sight : *sights) {
    Result<LockInfo> info = co_await view_.describe(sight, limit);
    if (!info) co_return info.failure();
    all.push_back(std::move(info).value());
  }
  co_return all;
}

Task<Result<void>> EtcdEngine::evict(const Name& name, Token token, Deadline deadline) {
  const Deadline limit = common_.request_deadline(deadline);
  const Failure not_held(Code::not_held, "'" + name.display() + "' is not held with token " +
                                             token.str() + "; nothing was changed");
  const Result<LockSight> sight = co_await view_.look(name, limit);
  if (!sight) co_return sight.failure();
  const auto end = sight->entries.begin() + static_cast<std::ptrdiff_t>(sight->holders);
  const auto holder = std::find_if(sight->entries.begin(), end, [&](const Entry& entry) {
    return static_cast<std::uint64_t>(entry.created) == token.value();
  });
  if (holder == end) co_return not_held;
  Txn txn;
  txn.if_created_at(holder->key, holder->created).remove(Txn::Branch::then, holder->key);
  const Result<Answer> answer = co_await common_.cluster.call(Method::txn, txn.encode(), limit);
  if (!answer) co_return answer.failure();
  const std::optional<TxnAnswer> done = etcd::decode_txn(answer->message);
  if (!done) co_return common_.cluster.failed(Code::unknown, "an answer that makes no sense");
  if (!done->succeeded && !answer->repeated) co_return not_held;
  co_return Result<void>();
}

Task<Result<LockSight>> EtcdEngine::look(const Name& name, const Wait& wait) {
  constexpr Duration kGrace = std::chrono::milliseconds(250);  // to answer at all
  const Deadline limit = common_.request_deadline(wait.deadline).later(runtime().now() + kGrace);
  co_return co_await view_.look(name, limit);
}

Task<Result<LockInfo>> EtcdEngine::watch(const Name& name, Token known, const Wait& wait) {
  const Keys keys(common_.settings.prefix, name);
  Vigil vigil(runtime(), common_.watcher);
  // Nobody tells of a connection that went silent: then a look does.
  constexpr Duration kLookAgain = std::chrono::seconds(5);
  constexpr Duration kPatience = std::chrono::seconds(30);
  std::optional<BootTime> answered_at;
  for (bool watching = false;;) {
    const Result<LockSight> sight = co_await look(name, wait);
    if (!sight) {
      const bool passing = sight.code() == Code::unreachable && answered_at &&
                           runtime().now() - *answered_at < kLookAgain + kPatience;
      if (!passing || wait.stop.stop_requested()) co_return sight.failure();
      const BootTime again = runtime().now() + runtime().jitter(std::chrono::milliseconds(100));
      static_cast<void>(co_await sleep_until(runtime(), again, wait.stop));
      continue;
    }
    answered_at = runtime().now();
    Token newest;
    for (std::size_t i = 0; i < sight->holders; ++i) {
      newest = std::max(newest, Token(static_cast<std::uint64_t>(sight->entries[i].created)));
    }
    if (newest != known) {
      const Deadline limit = common_.request_deadline(Deadline::never());
      co_return co_await view_.describe(*sight, limit);
    }
    if (!wait.queue || wait.deadline.passed(runtime().now())) {
      co_return Failure::busy(Busy{.holder = "the same holder as before", .token = known.value()});
    }
    if (!watching) vigil.watch({}, {keys.base, keys.end, etcd::Tell::everything});
    watching = true;
    const bool fresh = vigil.watching_since(sight->seen_at) && vigil.events.empty();
    Woken woken = Woken::signalled;
    if (fresh || !vigil.all_watching()) {
      const BootTime again = runtime().now() + runtime().jitter(kLookAgain);
      woken = co_await vigil.told.wait(wait.deadline.sooner(again), wait.stop);
    }
    vigil.told.reset();
    vigil.events.clear();
    if (woken == Woken::cancelled) co_return common_.cancelled();
    if (vigil.blind) {
      vigil.clear();
      watching = false;
      const BootTime again = runtime().now() + runtime().jitter(std::chrono::milliseconds(100));
      static_cast<void>(co_await sleep_until(runtime(), again, wait.stop));
    }
  }
}

Task<void> EtcdEngine::close() {
  // A short-lived command should not wait for long for what ends by itself.
  constexpr Duration kLongest = std::chrono::seconds(1);
  const Deadline deadline = Deadline::at(runtime().now() + kLongest);
  common_.watcher.stop();
  static_cast<void>(co_await common_.background.join(deadline));
  co_await common_.sessions.close(deadline);
}

}  // namespace

Guarantees etcd_guarantees() {
  return Guarantees{
      .engine = "etcd",
      .recipe = "queue of keys",
      .exclusion = Exclusion::linearizable,
      .token = TokenStrength::linearizable,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = true,
      .min_ttl = std::chrono::seconds(1),
      .notes =
          "Kept by consensus; a minority that is cut off grants and renews nothing. etcd "
          "counts leases in whole seconds, so a dead holder's lock ends up to two seconds "
          "after its ttl. Before 3.4.31 and 3.5.13 a leader that stalled may revoke renewed "
          "leases: ours are believed in the term that granted them only; those of foreign "
          "clients on the same keys are not safe."};
}

Result<std::unique_ptr<Engine>> open_etcd_engine(const Url& url, Runtime& runtime,
                                                 const ClientOptions& options) {
  const Result<etcd::Settings> settings = etcd::settings_from(url, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<Engine>(std::make_unique<EtcdEngine>(*settings, runtime));
}

}  // namespace holdfast::internal
