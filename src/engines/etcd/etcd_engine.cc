#include "engines/etcd/etcd_engine.h"

#include <algorithm>

#include "base/known_server.h"
#include "engines/etcd/acquisition.h"
#include "engines/etcd/facts.h"
#include "engines/etcd/lock_view.h"
#include "engines/etcd/records.h"
#include "engines/etcd/renewals.h"

namespace holdfast::internal {

namespace {

using etcd::Answer;
using etcd::Entry;
using etcd::HeldKey;
using etcd::LockSnapshot;
using etcd::SessionPtr;

class EtcdEngine final : public Engine {
 public:
  EtcdEngine(const etcd::Settings& settings, Runtime& runtime)
      : Engine(runtime),
        known_(etcd_guarantees()),
        cluster_(runtime, settings),
        sessions_(runtime, cluster_),
        watcher_(runtime, cluster_),
        claims_(runtime),
        releases_(cluster_, sessions_, claims_, background_),
        renewals_(runtime, cluster_, sessions_, claims_),
        view_(runtime, cluster_),
        records_(cluster_),
        background_(runtime) {
    sessions_.on_gone = [this](const ClaimId& claim) { doubt(claim); };
    sessions_.on_lost = [this] { claims_.on_session_lost(); };
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
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override {
    return records_.read(name, cluster_.request_deadline(deadline));
  }
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override {
    return records_.swap(name, std::move(expected), std::move(value),
                         cluster_.request_deadline(deadline));
  }
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override {
    return records_.list(prefix, cluster_.request_deadline(deadline));
  }
  Task<void> close() override;

 private:
  // Asks what the member is, beside other requests, whenever the connection is another one.
  void examine_in_background();

  KnownServer known_;
  std::optional<std::uint64_t> examined_;  // the connection on which it was asked last
  etcd::Cluster cluster_;
  etcd::Sessions sessions_;
  etcd::Watcher watcher_;
  etcd::Claims claims_;
  etcd::Releases releases_;
  etcd::Renewals renewals_;
  etcd::LockView view_;
  etcd::Records records_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

// ---- Holding -----------------------------------------------------------------------------------

Task<Result<Grant>> EtcdEngine::acquire(const Claim& claim, const Wait& wait) {
  etcd::Acquisition acquisition(runtime(), cluster_, sessions_, watcher_, claims_, releases_,
                                background_, claim, wait);
  Result<Grant> grant = co_await acquisition.run();
  examine_in_background();
  co_return grant;
}

void EtcdEngine::examine_in_background() {
  if (!cluster_.connected() || examined_ == cluster_.connection()) return;
  examined_ = cluster_.connection();
  const auto quietly = [](EtcdEngine& engine) -> Task<void> {
    static_cast<void>(co_await engine.examine(Deadline::never()));
  };
  background_.spawn(quietly(*this));
}

Task<Result<Examination>> EtcdEngine::examine(Deadline deadline) {
  std::string where;
  for (const Endpoint& endpoint : cluster_.settings().endpoints) {
    where += (where.empty() ? "" : ",") + endpoint.display();
  }
  const Result<etcd::Facts> facts =
      co_await etcd::ask_facts(cluster_, std::move(where), cluster_.request_deadline(deadline));
  if (!facts) co_return facts.failure();
  static_cast<void>(known_.learn(etcd::examined(*facts)));
  co_return *known_.last();
}

Task<std::vector<Result<Grant>>> EtcdEngine::renew(std::span<const Hold> holds, Deadline deadline) {
  co_return co_await renewals_.renew(holds, cluster_.request_deadline(deadline));
}

Task<Result<bool>> EtcdEngine::release(const Claim& claim, Deadline deadline) {
  co_return co_await releases_.release(claim, cluster_.request_deadline(deadline));
}

Task<Result<void>> EtcdEngine::detach(const Hold& hold, Deadline deadline) {
  const Claim claim = hold.claim;
  const HeldKey* const found = claims_.held(claim.id);
  if (!found) co_return etcd::no_longer_held(claim);
  HeldKey held = *found;
  claims_.slots.retire(claim.id);  // The key may outlive this client.
  const Result<SessionPtr> own = co_await sessions_.move_key(
      held.key, held.token, claim.ttl, held.session, true, cluster_.request_deadline(deadline));
  if (!own && own.code() == Code::not_held) co_return etcd::no_longer_held(claim);
  if (!own) co_return own.failure();
  sessions_.forget(*own);
  held.session = *own;
  claims_.hold(std::move(held));
  co_return Result<void>();
}

// ---- Showing and breaking ----------------------------------------------------------------------

Task<Result<LockInfo>> EtcdEngine::inspect(const Name& name, Deadline deadline) {
  const Deadline limit = cluster_.request_deadline(deadline);
  const Result<LockSnapshot> lock = co_await view_.read(name, limit);
  if (!lock) co_return lock.failure();
  co_return co_await view_.describe(*lock, limit);
}

Task<Result<std::vector<LockInfo>>> EtcdEngine::list(const std::string& prefix, Deadline deadline) {
  const Deadline limit = cluster_.request_deadline(deadline);
  const Result<std::vector<LockSnapshot>> locks = co_await view_.read_all(prefix, limit);
  if (!locks) co_return locks.failure();
  std::vector<LockInfo> all;
  for (const LockSnapshot& lock : *locks) {
    Result<LockInfo> info = co_await view_.describe(lock, limit);
    if (!info) co_return info.failure();
    all.push_back(std::move(info).value());
  }
  co_return all;
}

Task<Result<void>> EtcdEngine::evict(const Name& name, Token token, Deadline deadline) {
  const Deadline limit = cluster_.request_deadline(deadline);
  const Failure not_held(Code::not_held, "'" + name.display() + "' is not held with token " +
                                             token.str() + "; nothing was changed");
  const Result<LockSnapshot> lock = co_await view_.read(name, limit);
  if (!lock) co_return lock.failure();
  const auto end = lock->entries.begin() + static_cast<std::ptrdiff_t>(lock->holders);
  const auto holder = std::find_if(lock->entries.begin(), end, [&](const Entry& entry) {
    return static_cast<std::uint64_t>(entry.created) == token.value();
  });
  if (holder == end) co_return not_held;
  etcd::Txn txn;
  txn.if_created_at(holder->key, holder->created).remove(etcd::Txn::Branch::then, holder->key);
  const Result<Answer<etcd::TxnAnswer>> removed = co_await cluster_.txn(std::move(txn), limit);
  if (!removed) co_return removed.failure();
  if (!removed->message.succeeded && !removed->repeated) co_return not_held;
  co_return Result<void>();
}

Task<Result<LockInfo>> EtcdEngine::watch(const Name& name, Token known, const Wait& wait) {
  const etcd::Keys keys = cluster_.keys_of(name);
  etcd::WatchSet watches(runtime(), watcher_);
  // Nobody tells of a connection that went silent: then a read does.
  constexpr Duration kReadAgain = std::chrono::seconds(5);
  constexpr Duration kPatience = std::chrono::seconds(30);
  constexpr Duration kGrace = std::chrono::milliseconds(250);  // to answer at all
  const auto pause = [&] {
    const BootTime again = runtime().now() + runtime().jitter(std::chrono::milliseconds(100));
    return sleep_until(runtime(), again, wait.stop);
  };
  std::optional<BootTime> answered_at;
  for (bool watching = false;;) {
    const Deadline limit = cluster_.request_deadline(wait.deadline).later(runtime().now() + kGrace);
    const Result<LockSnapshot> lock = co_await view_.read(name, limit);
    if (!lock) {
      const bool passing = lock.code() == Code::unreachable && answered_at &&
                           runtime().now() - *answered_at < kReadAgain + kPatience;
      if (!passing || wait.stop.stop_requested()) co_return lock.failure();
      static_cast<void>(co_await pause());
      continue;
    }
    answered_at = runtime().now();
    if (lock->newest_token() != known) {
      co_return co_await view_.describe(*lock, cluster_.request_deadline());
    }
    if (!wait.queue || wait.deadline.passed(runtime().now())) {
      co_return Failure::busy(Busy{.holder = "the same holder as before", .token = known.value()});
    }
    if (!watching) watches.add({}, {keys.base, keys.end, etcd::Tell::everything}, false);
    watching = true;
    const bool fresh = watches.covers(lock->seen_at) && watches.events.empty();
    Woken woken = Woken::signalled;
    if (fresh || !watches.live()) {
      const BootTime again = runtime().now() + runtime().jitter(kReadAgain);
      woken = co_await watches.changed.wait(wait.deadline.sooner(again), wait.stop);
    }
    watches.changed.reset();
    watches.events.clear();
    if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
    if (!watches.blind) continue;
    watches.clear();
    watching = false;
    static_cast<void>(co_await pause());
  }
}

Task<void> EtcdEngine::close() {
  // A short-lived command should not wait for long: leases end by themselves.
  constexpr Duration kLongest = std::chrono::seconds(1);
  const Deadline deadline = Deadline::at(runtime().now() + kLongest);
  watcher_.stop();
  static_cast<void>(co_await background_.join(deadline));
  co_await sessions_.close(deadline);
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
      .records = true,
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
