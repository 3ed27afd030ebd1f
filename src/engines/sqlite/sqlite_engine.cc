#include "engines/sqlite/sqlite_engine.h"

#include <algorithm>
#include <system_error>
#include <unordered_map>

#include "base/exhausted.h"
#include "base/known_server.h"
#include "base/process.h"
#include "base/server_reporter.h"
#include "base/text.h"
#include "engines/kit/failures.h"
#include "engines/kit/withdrawal.h"
#include "engines/sqlite/death_watch.h"
#include "engines/sqlite/lock_owner.h"
#include "engines/sqlite/open_store.h"

namespace holdfast::internal {

namespace {

class SqliteEngine final : public Engine {
 public:
  SqliteEngine(StoreOptions store, Ownership ownership, Runtime& runtime,
               const ClientOptions& options)
      : Engine(runtime),
        options_(std::move(store)),
        ownership_(std::move(ownership)),
        label_(options.label),
        request_timeout_(options.request_timeout),
        known_(sqlite_guarantees()),
        deaths_(runtime),
        resends_(runtime) {}

  // Opens the database. Succeeds also if it is in use in a way that must pass first: each call tries
  // again then, within its deadline, and can be cancelled.
  Result<void> open();

  const Guarantees& guarantees() const override { return known_.guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override;
  int liveness_descriptor() const override { return store_ ? store_->liveness.descriptor() : -1; }

  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override;
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override;
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override;
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline) override;
  Task<void> close() override;

 private:
  // A claim of this client that waits in the queue.
  struct Waiter {
    Waiter(SqliteEngine& the_engine, const ClaimId& the_id)
        : engine(the_engine), id(the_id), told(the_engine.runtime()) {
      engine.waiters_.emplace(id, this);
    }
    ~Waiter() { engine.waiters_.erase(id); }

    SqliteEngine& engine;
    ClaimId id;
    Event told;
    std::optional<Grant> grant;
  };

  // Runs one transaction and tells whoever it concerns. While another process is in the way it
  // waits, without blocking the loop, until the deadline; for a database that cannot even be opened
  // no longer than for one request. F: (LockTable&) -> T.
  template <class F>
  auto transact(F work, Deadline deadline, std::stop_token stop = {})
      -> Task<Result<decltype(work(std::declval<LockTable&>()))>>;
  // Nothing if another process is in the way.
  template <class F>
  auto attempt(F& work) -> std::optional<Result<decltype(work(std::declval<LockTable&>()))>>;
  // The database of this client is not the one that others use any more. Final: its holds are lost.
  bool replaced();
  // Tells the observer.
  Failure reported(Failure why);
  Failure in_the_way() const;

  Task<Result<Grant>> wait_in_queue(const Claim& claim, const Wait& wait, Waiting waiting);
  // Withdraws the claim by its id, and answers `why`.
  Task<Result<Grant>> give_up(const Claim& claim, Failure why);
  // False if nobody can wake us (no descriptor, no directory): then waiters poll.
  bool listen();
  void tell(std::vector<Wake> wakes);
  void on_message(const WakeMessage& message);
  Task<void> resend(ProcessId to, WakeMessage message);
  // Only a process that is stopped in a transaction keeps the database locked for longer.
  Deadline soon() const { return Deadline::at(runtime().now() + std::chrono::seconds(5)); }

  const StoreOptions options_;
  const Ownership ownership_;
  const std::string label_;
  const Duration request_timeout_;
  KnownServer known_;
  std::unique_ptr<OpenStore> store_;   // null: not opened yet
  std::optional<sqlite::Error> busy_;  // the last one: somebody is in the way
  std::optional<Failure> replaced_;
  DeathWatch deaths_;
  std::unordered_map<ClaimId, Waiter*> waiters_;
  TaskGroup resends_;
};

Task<Result<Examination>> SqliteEngine::examine(Deadline deadline) {
  const auto nothing = [](LockTable&) { return true; };
  const Result<bool> usable = co_await transact(nothing, deadline);
  if (!usable) co_return usable.failure();
  Examination found;
  found.product = "SQLite";
  found.version = sqlite::library_version();
  found.server = "SQLite in " + options_.path.string();
  found.settings.push_back({"synchronous", options_.sync_every_commit ? "FULL" : "NORMAL"});
  found.settings.push_back({"journal_mode", "WAL"});
  const std::string whose = ownership_.group
                                ? "is shared by the group '" + ownership_.group->name() + "'"
                                : "belongs to this user";
  found.findings.push_back({Severity::good, "sqlite-file",
                            "the file is on this machine, " + whose + ", and can be locked", ""});
  static_cast<void>(known_.learn(std::move(found)));
  co_return *known_.last();
}

// ---- Transactions ------------------------------------------------------------------------------

Result<void> SqliteEngine::open() {
  const auto nothing = [](LockTable&) { return true; };
  const std::optional<Result<bool>> opened = attempt(nothing);
  if (opened && !*opened) return opened->failure();
  return {};
}

template <class F>
auto SqliteEngine::attempt(F& work)
    -> std::optional<Result<decltype(work(std::declval<LockTable&>()))>> {
  using Outcome = Result<decltype(work(std::declval<LockTable&>()))>;
  try {
    if (!store_) {
      store_ = std::make_unique<OpenStore>(options_, ownership_, runtime(), label_);
      report_opened(runtime(), options_.path.string());
    }
    if (replaced()) return Outcome(*replaced_);
    LockTable& table = store_->table;
    table.take_wakes();  // Left by an exception, for nobody.
    auto outcome = work(table);
    tell(table.take_wakes());
    for (const ProcessId dead : table.take_dead()) store_->sockets.forget(dead);
    return Outcome(std::move(outcome));
  } catch (const sqlite::Error& error) {
    if (!error.busy()) return Outcome(reported(error.failure(options_.path)));
    busy_ = error;
    return std::nullopt;
  } catch (const std::system_error& error) {
    const auto limit = exceeded_limit(error.code().value());
    return Outcome(reported(Failure(limit ? Code::exhausted : Code::misconfigured,
                                    "the lock database " + options_.path.string() +
                                        " cannot be used: " + limit.value_or(error.what()))));
  }
}

template <class F>
auto SqliteEngine::transact(F work, Deadline deadline, std::stop_token stop)
    -> Task<Result<decltype(work(std::declval<LockTable&>()))>> {
  constexpr Duration kShortestPause = std::chrono::milliseconds(1);
  constexpr Duration kLongestPause = std::chrono::milliseconds(16);
  const Deadline open_by = deadline.sooner(runtime().now() + request_timeout_);
  Duration pause = kShortestPause;
  for (;;) {
    auto outcome = attempt(work);
    if (outcome) co_return std::move(*outcome);
    const Deadline until = store_ ? deadline : open_by;
    if (until.passed(runtime().now())) co_return reported(in_the_way());
    const Deadline again = until.sooner(runtime().now() + runtime().jitter(pause, 0.5));
    pause = std::min(pause * 5 / 4, kLongestPause);
    if (co_await sleep_until(runtime(), again.moment(), stop) == Woken::cancelled) {
      co_return cancelled_by_caller();
    }
  }
}

Failure SqliteEngine::reported(Failure why) {
  if (store_) {
    report_refused(runtime(), options_.path.string(), why);
  } else {
    report_failed_to_open(runtime(), options_.path.string(), why);
  }
  return why;
}

Failure SqliteEngine::in_the_way() const {
  if (busy_->code() == sqlite::Error::kInUse) return busy_->failure(options_.path);
  return Failure(Code::unreachable,
                 "the lock database " + options_.path.string() + ": " + writer_of(options_.path) +
                     " keeps it locked all the time; look whether it is stopped");
}

bool SqliteEngine::replaced() {
  if (replaced_) return true;
  const std::string file = store_->files.replaced(runtime().now());
  if (file.empty()) return false;
  replaced_ = Failure(Code::misconfigured,
                      "the lock database " + options_.path.string() + ": " + file +
                          " was removed or replaced while this process used it; all its locks are "
                          "lost. Restart it, and remove or restore a lock database only when no "
                          "process uses it");
  report_lost(runtime(), options_.path.string(), *replaced_);
  store_->database.abandon();
  doubt();
  for (const auto& [claim, waiter] : waiters_) waiter->told.set();
  return true;
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Grant>> SqliteEngine::acquire(const Claim& claim, const Wait& wait) {
  const auto ask = [&](LockTable& table) { return table.acquire(claim, wait.queue); };
  // A try must answer; a wait need not answer before its deadline.
  const Deadline answer_by = wait.queue ? wait.deadline : wait.deadline.sooner(soon().moment());
  Result<Answer> answer = co_await transact(ask, answer_by, wait.stop);
  if (!answer) co_return answer.failure();
  if (const Grant* grant = std::get_if<Grant>(&*answer)) co_return *grant;
  if (const Failure* failure = std::get_if<Failure>(&*answer)) co_return *failure;
  Waiting& waiting = std::get<Waiting>(*answer);
  if (!wait.queue) co_return Failure::busy(std::move(waiting.busy));
  co_return co_await wait_in_queue(claim, wait, std::move(waiting));
}

Task<Result<Grant>> SqliteEngine::wait_in_queue(const Claim& claim, const Wait& wait,
                                                Waiting waiting) {
  constexpr Duration kShortestPoll = std::chrono::milliseconds(2);
  constexpr Duration kLongestPoll = std::chrono::milliseconds(50);
  // A holder that released between our queueing and now found no socket of ours, so we look at once.
  const bool first_wait = !store_->sockets.listening();
  const bool deaf = !listen();
  if (first_wait) waiting.look_at = runtime().now();
  Waiter self(*this, claim.id);
  Duration poll = kShortestPoll;
  for (;;) {
    const DeathWatch::Watching watching = deaths_.watch(waiting.ahead, self.told);
    BootTime look_at = waiting.look_at;
    if (deaf || watching.must_poll()) {
      look_at = std::min(look_at, runtime().now() + poll);
      poll = std::min(poll * 2, kLongestPoll);
    }
    const Woken woken = co_await self.told.wait(wait.deadline.sooner(look_at), wait.stop);
    self.told.reset();
    if (self.grant) {
      // A grant that is over by now was taken from us while we slept; then we ask again.
      if (runtime().now() < self.grant->counted_from + self.grant->ttl) co_return *self.grant;
      self.grant.reset();
    }
    if (woken == Woken::cancelled) co_return co_await give_up(claim, cancelled_by_caller());
    if (wait.deadline.passed(runtime().now())) {
      co_return co_await give_up(claim, Failure::busy(std::move(waiting.busy)));
    }
    const auto look = [&](LockTable& table) { return table.look(claim); };
    Result<Answer> answer = co_await transact(look, wait.deadline, wait.stop);
    if (!answer) co_return co_await give_up(claim, answer.failure());
    if (const Grant* grant = std::get_if<Grant>(&*answer)) co_return *grant;
    if (const Failure* failure = std::get_if<Failure>(&*answer)) {
      co_return co_await give_up(claim, *failure);
    }
    waiting = std::move(std::get<Waiting>(*answer));
  }
}

Task<Result<Grant>> SqliteEngine::give_up(const Claim& claim, Failure why) {
  // Also ends a hold that was granted this very moment.
  const auto end = [&](LockTable& table) { return table.release(claim); };
  const Result<bool> withdrawn = co_await transact(end, soon());
  if (replaced_) co_return why;
  co_return after_withdrawal(why, withdrawn);
}

// ---- Telling -----------------------------------------------------------------------------------

bool SqliteEngine::listen() {
  try {
    store_->sockets.listen([this](const WakeMessage& message) { on_message(message); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void SqliteEngine::tell(std::vector<Wake> wakes) {
  for (const Wake& wake : wakes) {
    const WakeMessage message{wake.claim, wake.grant};
    if (wake.process == store_->liveness.mine().id) {
      on_message(message);
      continue;
    }
    try {
      if (!store_->sockets.send(wake.process, message))
        resends_.spawn(resend(wake.process, message));
    } catch (const std::system_error&) {
      // No descriptor or no directory: the waiter looks for itself, a second later.
    }
  }
}

Task<void> SqliteEngine::resend(ProcessId to, WakeMessage message) {
  constexpr int kTries = 20;
  for (int tries = 0; tries < kTries; ++tries) {
    const BootTime again = runtime().now() + runtime().jitter(std::chrono::milliseconds(5));
    if (co_await sleep_until(runtime(), again, resends_.stop_token()) == Woken::cancelled) break;
    if (store_->sockets.send(to, message)) break;
  }
}

void SqliteEngine::on_message(const WakeMessage& message) {
  const auto waiter = waiters_.find(message.claim);
  if (waiter == waiters_.end()) return;  // It gave up; its release ends the grant.
  if (message.grant) waiter->second->grant = message.grant;
  waiter->second->told.set();
}

// ---- The rest ----------------------------------------------------------------------------------

Task<std::vector<Result<Grant>>> SqliteEngine::renew(std::span<const Hold> holds,
                                                     Deadline deadline) {
  const auto work = [&](LockTable& table) { return table.renew(holds); };
  const Result<std::vector<std::optional<Grant>>> renewed = co_await transact(work, deadline);
  std::vector<Result<Grant>> outcomes;
  outcomes.reserve(holds.size());
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (replaced_) {
      outcomes.emplace_back(Failure(Code::not_held, replaced_->message()));
    } else if (!renewed) {
      outcomes.emplace_back(renewed.failure());
    } else if ((*renewed)[i]) {
      outcomes.emplace_back(*(*renewed)[i]);
    } else {
      outcomes.emplace_back(no_longer_held(holds[i].claim.name));
    }
  }
  co_return outcomes;
}

Task<Result<bool>> SqliteEngine::release(const Claim& claim, Deadline deadline) {
  const auto work = [&](LockTable& table) { return table.release(claim); };
  Result<bool> released = co_await transact(work, deadline);
  if (replaced_) co_return false;
  co_return released;
}

Task<Result<void>> SqliteEngine::detach(const Hold& hold, Deadline deadline) {
  const auto work = [&](LockTable& table) { return table.detach(hold); };
  const Result<bool> detached = co_await transact(work, deadline);
  if (replaced_) co_return Failure(Code::not_held, replaced_->message());
  if (!detached) co_return detached.failure();
  if (!*detached) co_return no_longer_held(hold.claim.name);
  co_return Result<void>();
}

Task<Result<std::vector<LockInfo>>> SqliteEngine::list(const std::string& prefix,
                                                       Deadline deadline) {
  const auto work = [&](LockTable& table) { return table.list(prefix); };
  co_return co_await transact(work, deadline);
}

Task<Result<LockInfo>> SqliteEngine::inspect(const Name& name, Deadline deadline) {
  const auto work = [&](LockTable& table) { return table.inspect(name); };
  co_return co_await transact(work, deadline);
}

Task<Result<void>> SqliteEngine::evict(const Name& name, Token token, Deadline deadline) {
  const auto work = [&](LockTable& table) { return table.evict(name, token); };
  const Result<bool> evicted = co_await transact(work, deadline);
  if (!evicted) co_return evicted.failure();
  if (*evicted) co_return Result<void>();
  co_return not_held_with(name, token);
}

// ---- Records -----------------------------------------------------------------------------------

Task<Result<std::optional<std::string>>> SqliteEngine::read_record(const Name& name,
                                                                   Deadline deadline) {
  const auto work = [&](LockTable&) { return store_->records.read(name); };
  co_return co_await transact(work, deadline);
}

Task<Result<bool>> SqliteEngine::swap_record(const Name& name, std::optional<std::string> expected,
                                             std::optional<std::string> value, Deadline deadline) {
  const auto work = [&](LockTable&) { return store_->records.swap(name, expected, value); };
  co_return co_await transact(work, deadline);
}

Task<Result<std::vector<Record>>> SqliteEngine::list_records(const std::string& prefix,
                                                             Deadline deadline) {
  const auto work = [&](LockTable&) { return store_->records.list(prefix); };
  co_return co_await transact(work, deadline);
}

// One machine has one clock.
Task<Result<std::optional<WallTime>>> SqliteEngine::server_time(Deadline) {
  co_return runtime().wall();
}

Task<void> SqliteEngine::close() {
  resends_.stop();
  static_cast<void>(co_await resends_.join(Deadline::at(runtime().now())));
  if (!store_ || replaced_) co_return;
  const auto work = [](LockTable& table) { return table.forget_process(), true; };
  static_cast<void>(co_await transact(work, Deadline::at(runtime().now())));
}

}  // namespace

Result<std::unique_ptr<Engine>> open_sqlite_engine(const Url& url, Runtime& runtime,
                                                   const ClientOptions& options) {
  Result<StoreOptions> store = store_options(url);
  if (!store) return store.failure();
  if (boot_clock_is_shifted()) {
    return Failure(Code::misconfigured,
                   "this process runs in a time namespace of its own, so it cannot share a lock "
                   "database with others; use a server engine");
  }
  Result<Ownership> ownership = ownership_of(*store);
  if (!ownership) return ownership.failure();
  Result<std::filesystem::path> prepared = prepare_file(store->path, *ownership);
  if (!prepared) {
    report_failed_to_open(runtime, store->path.string(), prepared.failure());
    return prepared.failure();
  }
  store->path = *prepared;
  if (Liveness::inherited_by_fork(store->path)) {
    return Failure(Code::forked,
                   "the parent process had the lock database " + store->path.string() +
                       " open when it forked, and SQLite cannot be opened a second time then; "
                       "open clients after fork(), or exec() first");
  }
  auto engine =
      std::make_unique<SqliteEngine>(std::move(*store), std::move(*ownership), runtime, options);
  if (const Result<void> opened = engine->open(); !opened) return opened.failure();
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace holdfast::internal
