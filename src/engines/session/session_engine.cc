#include "engines/session/session_engine.h"

#include <algorithm>
#include <functional>

#include "base/unreachable_instead_of_unknown.h"
#include "engines/kit/failures.h"
#include "engines/session/acquisition.h"
#include "engines/session/held.h"
#include "engines/session/record_requests.h"
#include "engines/session/sessions.h"
#include "holdfast/async.h"

namespace holdfast::internal::session {

namespace {

class SessionEngine final : public Engine {
 public:
  SessionEngine(Runtime& runtime, std::unique_ptr<Recipe> recipe, const Limits& limits,
                std::shared_ptr<ServerExaminer> examiner)
      : Engine(runtime),
        examiner_(std::move(examiner)),
        recipe_(std::move(recipe)),
        limits_(limits),
        deadlines_(runtime, limits.request_timeout),
        sessions_(runtime, *recipe_, limits.connections, limits.idle_connections),
        records_(runtime, recipe_->record_sql(), recipe_->prefix(),
                 record_requests(runtime, *recipe_, sessions_, limits.request_timeout)),
        background_(runtime) {}
  ~SessionEngine() override { background_.abandon(); }

  const Guarantees& guarantees() const override { return examiner_->guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override {
    return examiner_->examine(deadlines_.request(deadline));
  }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold&, Deadline) override {
    co_return Failure(Code::unsupported, kNoHandles);
  }
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override {
    return records_.read(name, deadlines_.request(deadline));
  }
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override {
    return records_.swap(name, std::move(expected), std::move(value), deadlines_.request(deadline));
  }
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override {
    return records_.list(prefix, deadlines_.request(deadline));
  }
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline) override {
    return records_.server_time(deadlines_.request(deadline));
  }
  int liveness_descriptor() const override {
    // Of the only lock, if there is only one: a child that inherits the connection keeps it open.
    return holds_.size() == 1 ? holds_.begin()->second->session->opened().descriptor : -1;
  }
  Task<void> close() override;

 private:
  static constexpr const char* kNoHandles =
      "a lock of this recipe lives in its connection and ends with the process; a lock that "
      "outlives its process needs recipe=table";

  // A waiter of this client.
  struct Waiting {
    explicit Waiting(Runtime& runtime) : gone(runtime) {}
    std::stop_source stop;
    Event gone;
  };

  Failure gone() const { return Failure(Code::not_held, "its session at the server has ended"); }

  Task<Result<Grant>> obtain(const Claim& claim, const Wait& wait);
  void keep(const std::shared_ptr<Held>& held);
  Task<void> watch_hold(std::shared_ptr<Held> held);
  // Ends a hold whose session is or will be gone.
  bool is_held(const std::shared_ptr<Held>& held) const;
  void drop(const std::shared_ptr<Held>& held);
  void begin_to_confirm(const std::shared_ptr<Held>& held);
  Task<Result<Grant>> confirmed(std::shared_ptr<Held> held, Deadline deadline);
  // `make` makes the batch once there is a connection: the dialect is not known before.
  Task<Result<SqlOutcome>> ask(std::function<Batch()> make, Deadline deadline);
  Task<Result<bool>> end_stray(const Claim& claim, Deadline deadline);
  void clean_in_time();
  Task<void> clean();

  std::shared_ptr<ServerExaminer> examiner_;
  std::unique_ptr<Recipe> recipe_;
  const Limits limits_;
  const Deadlines deadlines_;
  Sessions sessions_;
  table::RecordTable records_;
  Holds holds_;
  std::unordered_map<ClaimId, std::shared_ptr<Waiting>> waiting_;
  OrphanedSessions orphans_;
  std::optional<BootTime> clean_at_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Grant>> SessionEngine::acquire(const Claim& claim, const Wait& wait) {
  if (wait.stop.stop_requested()) co_return cancelled_by_caller();
  if (claim.outlives_process) co_return Failure(Code::unsupported, kNoHandles);
  if (const auto place = holds_.find(claim.id); place != holds_.end()) {
    const std::shared_ptr<Held> held = place->second;
    const Deadline limit = deadlines_.request();
    Result<Grant> again = co_await confirmed(held, limit);
    if (again || again.code() != Code::not_held) co_return again;
  }
  // So that release() can end the wait, and the caller's stop_token as well.
  auto waiting = std::make_shared<Waiting>(runtime());
  const std::stop_callback pass_on(wait.stop, [waiting] { waiting->stop.request_stop(); });
  waiting_[claim.id] = waiting;
  struct Leaving {
    SessionEngine& engine;
    ClaimId id;
    std::shared_ptr<Waiting> waiting;
    ~Leaving() {
      engine.waiting_.erase(id);
      waiting->gone.set();
    }
  };
  const Leaving leaving{*this, claim.id, waiting};
  Wait mine = wait;
  mine.stop = waiting->stop.get_token();
  Result<Grant> grant = co_await obtain(claim, mine);
  if (!grant && grant.code() == Code::cancelled && !wait.stop.stop_requested()) {
    co_return released_while_waiting();
  }
  co_return grant;
}

Task<Result<Grant>> SessionEngine::obtain(const Claim& claim, const Wait& wait) {
  const auto held = std::make_shared<Held>(claim, recipe_->key_of(claim.name));
  Acquisition acquisition(runtime(), *recipe_, sessions_, limits_.request_timeout, *held, wait,
                          orphans_);
  const Result<void> got = co_await contained(acquisition.run());
  if (!got) {
    // By an exception: what it holds, or waits for, ends with its session.
    if (held->session) {
      orphans_.add(claim.id, held->session->opened());
      sessions_.forget(std::exchange(held->session, nullptr));
    }
    co_return got.failure();
  }
  keep(held);
  co_return Grant{held->token, held->counted_from, claim.ttl};
}

void SessionEngine::keep(const std::shared_ptr<Held>& held) {
  holds_[held->claim.id] = held;
  background_.spawn(watch_hold(held));
  clean_in_time();
}

void SessionEngine::clean_in_time() {
  constexpr Duration kOften = std::chrono::minutes(10);
  const BootTime now = runtime().now();
  // Not all clients at once, nor one that lives for a moment.
  if (!clean_at_) clean_at_ = now + runtime().jitter(kOften, 0.9);
  if (now < *clean_at_) return;
  clean_at_ = now + runtime().jitter(kOften);
  background_.spawn(clean());
}

Task<void> SessionEngine::clean() {
  static constexpr Duration kLongDead = std::chrono::hours(1);
  if (recipe_->clean(kLongDead).empty()) co_return;
  std::function<Batch()> make = [this] { return recipe_->clean(kLongDead); };
  // If it fails, somebody will do it another time.
  static_cast<void>(co_await ask(std::move(make), Deadline::never()));
}

// A hold that nobody renews ends by its ttl; one whose session ends is reported at once.
Task<void> SessionEngine::watch_hold(std::shared_ptr<Held> held) {
  for (;;) {
    const Deadline end = Deadline::at(held->expires());
    const Woken woken = co_await held->session->lost().wait(end, held->over.get_token());
    if (woken == Woken::cancelled) co_return;
    if (woken == Woken::timed_out && runtime().now() < held->expires()) continue;  // renewed
    break;
  }
  drop(held);
  doubt(held->claim.id);
}

bool SessionEngine::is_held(const std::shared_ptr<Held>& held) const {
  const auto place = holds_.find(held->claim.id);
  return place != holds_.end() && place->second == held;
}

void SessionEngine::drop(const std::shared_ptr<Held>& held) {
  if (!is_held(held)) return;
  holds_.erase(held->claim.id);
  held->over.request_stop();
  sessions_.forget(held->session);
}

// ---- Keeping and giving back -------------------------------------------------------------------

// The answer may come after the caller of this renewal gave up: the next one takes it.
void SessionEngine::begin_to_confirm(const std::shared_ptr<Held>& held) {
  // Its session may be another's by now: a batch waits for each of its holds in turn, and this one may have
  // been renewed by hand and given back meanwhile.
  if (!is_held(held) || held->confirming || held->session->busy()) return;
  held->confirming = true;
  const Deadline limit = Deadline::at(held->expires());
  held->session->send(recipe_->confirm(held->key, held->claim, held->session->opened()), limit);
}

Task<Result<Grant>> SessionEngine::confirmed(std::shared_ptr<Held> held, Deadline deadline) {
  if (!is_held(held)) co_return gone();
  begin_to_confirm(held);
  const Woken woken = co_await held->session->wait(deadline);
  if (woken != Woken::signalled) {
    co_return Failure(Code::unreachable, "the database server did not answer in time");
  }
  if (!is_held(held)) co_return gone();
  held->confirming = false;
  const SqlOutcome& outcome = held->session->answer();
  if (outcome.ok() && has_it(outcome)) {
    held->counted_from = std::max(held->counted_from, outcome.sent_at);
    co_return Grant{held->token, held->counted_from, held->claim.ttl};
  }
  if (!outcome.ok() && !outcome.error->lost && !recipe_->errors_release()) {
    co_return recipe_->failure_of(*outcome.error);
  }
  drop(held);
  co_return gone();
}

Task<std::vector<Result<Grant>>> SessionEngine::renew(std::span<const Hold> holds,
                                                      Deadline deadline) {
  const Deadline limit = deadlines_.request(deadline);
  std::vector<std::shared_ptr<Held>> all(holds.size());
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const auto place = holds_.find(holds[i].claim.id);
    if (place == holds_.end()) continue;
    all[i] = place->second;
    begin_to_confirm(all[i]);  // All are under way before we wait for the first.
  }
  std::vector<Result<Grant>> outcomes;
  outcomes.reserve(holds.size());
  for (const std::shared_ptr<Held>& held : all) {
    if (held) {
      outcomes.push_back(co_await contained(confirmed(held, limit)));
    } else {
      outcomes.emplace_back(gone());
    }
  }
  co_return outcomes;
}

Task<Result<bool>> SessionEngine::release(const Claim& claim, Deadline deadline) {
  const Deadline limit = deadlines_.request(deadline);
  if (const auto place = waiting_.find(claim.id); place != waiting_.end()) {
    const std::shared_ptr<Waiting> waiting = place->second;
    waiting->stop.request_stop();
    if (co_await waiting->gone.wait(limit) != Woken::signalled) {
      co_return Failure(Code::unknown, "its wait did not end in time");
    }
  }
  const auto place = holds_.find(claim.id);
  if (place == holds_.end()) co_return co_await end_stray(claim, limit);
  const std::shared_ptr<Held> held = place->second;
  if (runtime().now() >= held->expires()) {  // watch_hold() is about to see it.
    drop(held);
    co_return false;
  }
  // From here on it is not held as far as we are concerned, whatever the answer is.
  holds_.erase(place);
  held->over.request_stop();
  const std::shared_ptr<Session> session = held->session;
  if (session->busy()) co_await session->wait(limit);  // a renewal
  if (session->busy()) {
    orphans_.add(claim.id, session->opened());
    session->give_up();
    sessions_.forget(session);
    co_return Failure(Code::unknown, "the database server did not answer in time");
  }
  SqlOutcome outcome = co_await session->ask(recipe_->give(held->key, held->claim), limit);
  if (outcome.ok()) {
    sessions_.give_back(session);
    co_return has_it(outcome);
  }
  // Its session ends, and the lock with it.
  orphans_.add(claim.id, session->opened());
  sessions_.forget(session);
  if (outcome.error->may_have_run) co_return recipe_->failure_of(*outcome.error);
  co_return co_await end_stray(claim, limit);
}

Task<Result<bool>> SessionEngine::end_stray(const Claim& claim, Deadline deadline) {
  const std::optional<Orphan> orphan = orphans_.find(claim.id);
  if (!orphan) co_return false;
  Result<std::shared_ptr<Session>> session = co_await sessions_.take(deadline);
  if (!session) co_return session.failure();
  const Loan loan(sessions_, *session);
  const Result<void> ended =
      co_await end_session(runtime(), *recipe_, **session, *orphan, deadline);
  if (!ended) co_return ended.failure();
  orphans_.remove(claim.id);
  co_return false;
}

Task<void> SessionEngine::close() {
  for (const auto& [id, held] : std::exchange(holds_, {})) {
    held->over.request_stop();
    sessions_.forget(held->session);
  }
  sessions_.close();
  background_.stop();
  co_return;
}

// ---- Looking -----------------------------------------------------------------------------------

Task<Result<SqlOutcome>> SessionEngine::ask(std::function<Batch()> make, Deadline deadline) {
  const Deadline limit = deadlines_.request(deadline);
  for (int attempt = 0;; ++attempt) {
    const Result<ClerkLoan> clerk = co_await sessions_.take_clerk(limit);
    if (!clerk) co_return clerk.failure();
    SqlOutcome outcome = co_await (*clerk)->ask(make(), limit);
    if (outcome.ok()) co_return outcome;
    // One that the server had ended while it was idle says nothing about the server.
    if (outcome.error->lost && attempt < 2 && !limit.passed(runtime().now())) continue;
    if (recipe_->trouble_with(*outcome.error) == SqlTrouble::no_table) co_return outcome;
    co_return unreachable_instead_of_unknown(recipe_->failure_of(*outcome.error));
  }
}

Task<Result<LockInfo>> SessionEngine::inspect(const Name& name, Deadline deadline) {
  std::function<Batch()> look = [&] { return recipe_->look(recipe_->key_of(name)); };
  const Result<SqlOutcome> outcome = co_await ask(std::move(look), deadline);
  if (!outcome) co_return outcome.failure();
  if (!outcome->ok()) co_return LockInfo{.name = name};  // no tables yet
  co_return recipe_->seen(name, *outcome);
}

Task<Result<std::vector<LockInfo>>> SessionEngine::list(const std::string& prefix,
                                                        Deadline deadline) {
  std::function<Batch()> look = [&] { return recipe_->look_at_all(prefix); };
  const Result<SqlOutcome> outcome = co_await ask(std::move(look), deadline);
  if (!outcome) co_return outcome.failure();
  std::vector<LockInfo> all;
  if (outcome->ok()) all = recipe_->all_seen(*outcome);
  const auto by_name = [](const LockInfo& a, const LockInfo& b) { return a.name < b.name; };
  std::sort(all.begin(), all.end(), by_name);
  co_return all;
}

Task<Result<void>> SessionEngine::evict(const Name& name, Token token, Deadline deadline) {
  constexpr Duration kPause = std::chrono::milliseconds(2);
  const Deadline limit = deadlines_.request(deadline);
  const Key key = recipe_->key_of(name);
  Result<std::shared_ptr<Session>> session = co_await sessions_.take(limit);
  if (!session) co_return session.failure();
  const Loan loan(sessions_, *session);
  const SqlOutcome outcome = co_await (*session)->ask(recipe_->evict(key, token), limit);
  const bool known = outcome.results.size() >= 2 && !outcome.results[1].empty();
  if (known && outcome.results[1].null(0, 0)) co_return not_held_with(name, token);
  if (!outcome.ok()) {
    const bool no_table = recipe_->trouble_with(*outcome.error) == SqlTrouble::no_table;
    if (no_table) co_return not_held_with(name, token);
    co_return recipe_->failure_of(*outcome.error);
  }
  const auto number = static_cast<std::uint64_t>(outcome.results[1].number(0, 0));
  // The server ends it in its own time.
  for (;;) {
    const SqlOutcome still = co_await (*session)->ask(recipe_->still_held_by(key, number), limit);
    if (!still.ok()) co_return recipe_->failure_of(*still.error);
    if (still.results.front().empty()) co_return Result<void>();
    co_await sleep_until(runtime(), runtime().now() + kPause);
  }
}

}  // namespace

std::unique_ptr<Engine> make_session_engine(Runtime& runtime, std::unique_ptr<Recipe> recipe,
                                            const Limits& limits,
                                            std::shared_ptr<ServerExaminer> examiner) {
  return std::make_unique<SessionEngine>(runtime, std::move(recipe), limits, std::move(examiner));
}

}  // namespace holdfast::internal::session
