#include "engines/mysql/name_chain.h"

#include <algorithm>

#include "base/failures.h"
#include "engines/mysql/lock_document.h"
#include "engines/mysql/table_sql.h"

namespace holdfast::internal::mysql {

using table::Given;

namespace {

constexpr std::size_t kMaxSessions = 16;
// Nobody sleeps in the server for longer without a look at the row.
constexpr std::int64_t kSleepSeconds = 2;
constexpr Duration kKeepIdle = std::chrono::seconds(5);
constexpr Duration kNamesPace = std::chrono::seconds(15);
// A wait without a name to sleep on lasts at most 5 % longer than it must.
constexpr Duration kShortestPause = std::chrono::microseconds(500);
constexpr Duration kNameless = std::chrono::seconds(1);
constexpr Duration kPauseWithoutSession = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::milliseconds(250);

// Behind a request that waits for a row, others look for another connection after so long.
constexpr Duration kLongestBusy = std::chrono::milliseconds(300);
constexpr Duration kRetakePace = std::chrono::milliseconds(250);

std::vector<SqlStatement> take_statements(const std::vector<ClaimId>& claims) {
  std::vector<SqlStatement> statements;
  for (const ClaimId& claim : claims) {
    statements.push_back(in_order("SELECT " + take_name_sql("$1"), {name_of(claim)}));
    statements.back().answer = one_row("n");
  }
  return statements;
}

}  // namespace

NameChain::NameChain(Runtime& runtime, TableDatabase& database)
    : runtime_(runtime),
      database_(database),
      names_idle_(runtime),
      reopening_(
          runtime, [this] { return open_names(); }, [] {}),
      background_(runtime) {
  names_idle_.set();
}

void NameChain::close() {
  background_.stop();
  background_.abandon();
  reopening_.abandon();
  waits_.clear();
  names_.reset();
}

// ---- Names -------------------------------------------------------------------------------------

Task<Result<void>> NameChain::listen(Deadline deadline, std::stop_token stop) {
  while (!names_ || !names_->connected()) {
    reopening_.begin();
    const Woken woken = co_await reopening_.wait(deadline, stop);
    if (woken == Woken::cancelled) co_return cancelled_by_caller();
    if (woken == Woken::timed_out) {
      co_return Failure(Code::unreachable, "MySQL at " +
                                               database_.settings().connection.endpoint.display() +
                                               ": no connection to wait on in time");
    }
    if (!reopening_.last()) co_return reopening_.last().failure();
  }
  if (!std::exchange(keeping_, true)) background_.spawn(keep_names());
  co_return Result<void>();
}

Task<Result<void>> NameChain::open_names() {
  Result<std::unique_ptr<MariadbConnection>> connected =
      co_await database_.connect(TableDatabase::Use::names);
  if (!connected) co_return connected.failure();
  const std::vector<ClaimId> claims(named_.begin(), named_.end());
  SqlOutcome taken;
  if (!claims.empty()) {
    const Deadline deadline =
        Deadline::at(runtime_.now() + database_.settings().connection.connect_timeout);
    taken = co_await (*connected)->run(take_statements(claims), deadline);
    if (!taken.ok()) {
      SqlError error = *taken.error;
      co_return database_.failure_of(error);
    }
  }
  names_ = std::move(connected).value();
  note_taken(claims, taken);
  co_return Result<void>();
}

void NameChain::note_taken(const std::vector<ClaimId>& claims, const SqlOutcome& answers) {
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const bool taken = i < answers.results.size() && answers.results[i].number(0, 0) == 1;
    const bool wanted = named_.contains(claims[i]);
    if (taken) untaken_.erase(claims[i]);
    if (wanted && !taken) want_name(claims[i]);
    // It was given back meanwhile.
    if (!wanted) background_.spawn(free_name(claims[i], Deadline::never()));
  }
}

void NameChain::want_name(const ClaimId& claim) {
  named_.insert(claim);
  untaken_.insert(claim);
  if (!std::exchange(retaking_, true)) background_.spawn(retake());
}

Task<void> NameChain::retake() {
  const std::stop_token stop = background_.stop_token();
  for (;;) {
    const BootTime again = runtime_.now() + runtime_.jitter(kRetakePace);
    if (co_await sleep_until(runtime_, again, stop) == Woken::cancelled) co_return;
    std::erase_if(untaken_, [&](const ClaimId& each) { return !named_.contains(each); });
    if (untaken_.empty()) break;
    const Deadline deadline = database_.requests().limit_of(Deadline::never());
    if (!co_await listen(deadline, stop)) continue;
    const std::vector<ClaimId> claims(untaken_.begin(), untaken_.end());
    note_taken(claims, co_await run(take_statements(claims), deadline));
  }
  retaking_ = false;
}

// As long as a claim has a name, or is about to queue.
Task<void> NameChain::keep_names() {
  const std::stop_token stop = background_.stop_token();
  do {
    const std::shared_ptr<MariadbConnection> names = names_;
    const Deadline pace = Deadline::at(runtime_.now() + runtime_.jitter(kNamesPace));
    if (names && co_await names->lost().wait(pace, stop) == Woken::cancelled) co_return;
    if (names && names->connected()) {
      // A server ends a session that says nothing.
      std::vector<SqlStatement> statements(1, SqlStatement{"DO 0", {}});
      const Deadline deadline = Deadline::at(runtime_.now() + database_.settings().request_timeout);
      static_cast<void>(co_await run(std::move(statements), deadline));
      if (names->connected()) continue;
    }
    reopening_.begin();
    if (co_await reopening_.wait(Deadline::never(), stop) == Woken::cancelled) co_return;
    // Others may have taken our waiters for dead.
    if (reopening_.last() && on_deaf) on_deaf();
  } while (!named_.empty() || anyone_waits());
  keeping_ = false;
  names_.reset();
}

Task<SqlOutcome> NameChain::run(std::vector<SqlStatement> statements, Deadline deadline) {
  return run_by(std::move(statements), deadline.sooner(runtime_.now() + kLongestBusy), deadline);
}

Task<SqlOutcome> NameChain::run_by(std::vector<SqlStatement> statements, Deadline idle_by,
                                   Deadline deadline) {
  // Lets the next one go on, also when this coroutine is destroyed.
  struct InUse {
    explicit InUse(Event& its_idle) : idle(its_idle) { idle.reset(); }
    ~InUse() { idle.set(); }
    Event& idle;
  };
  while (!names_idle_.is_set()) {
    if (co_await names_idle_.wait(idle_by) == Woken::timed_out) break;
  }
  SqlOutcome outcome{.sent_at = runtime_.now()};
  outcome.error = SqlError{.message = "there is no connection", .lost = true};
  const std::shared_ptr<MariadbConnection> names = names_;
  if (!names || !names->connected() || !names_idle_.is_set()) co_return outcome;
  const InUse in_use(names_idle_);
  outcome = co_await names->run(std::move(statements), deadline);
  if (!outcome.ok() && outcome.error->lost) names->close();
  co_return outcome;
}

Task<void> NameChain::take_name(ClaimId claim, Deadline deadline) {
  if (!named_.insert(claim).second) co_return;
  const std::vector<ClaimId> claims(1, claim);
  note_taken(claims, co_await run(take_statements(claims), deadline));
}

Task<void> NameChain::give_name(ClaimId claim, Deadline deadline) {
  if (named_.erase(claim) == 0) co_return;
  if (names_idle_.is_set()) co_return co_await free_name(claim, deadline);
  // The caller need not wait behind a request that waits for a row.
  background_.spawn(free_name(claim, Deadline::never()));
}

Task<void> NameChain::free_name(ClaimId claim, Deadline deadline) {
  std::vector<SqlStatement> statements;
  statements.push_back({"SELECT RELEASE_LOCK(?)", {name_of(claim)}});
  const Deadline limit = database_.requests().limit_of(deadline);
  static_cast<void>(co_await run_by(std::move(statements), deadline, limit));
}

// ---- Sleeping ----------------------------------------------------------------------------------

NameChain::Wait& NameChain::wait_at(const std::string& key) {
  std::shared_ptr<Wait>& wait = waits_[key];
  if (!wait) {
    wait = std::make_shared<Wait>(runtime_, key);
    background_.spawn(serve(wait));
  }
  return *wait;
}

void NameChain::queued(const std::string& key, const ClaimId& claim,
                       const std::optional<ClaimId>& before, std::uint64_t version) {
  Wait& wait = wait_at(key);
  const auto found = std::ranges::find(wait.line, claim, &QueueEntry::claim);
  if (found != wait.line.end() && version == 0) {
    if (before) found->before = before;
    return;
  }
  if (found != wait.line.end()) wait.line.erase(found);
  const auto behind = std::ranges::find_if(
      wait.line, [&](const QueueEntry& each) { return version != 0 && each.version > version; });
  wait.line.insert(behind, {claim, ++last_number_, version, before});
}

void NameChain::now_waiting(const std::string& key) { look_soon(key); }

void NameChain::look_soon(const std::string& key) {
  const auto found = waits_.find(key);
  if (found != waits_.end()) found->second->changed.set();
}

std::optional<NameChain::QueueEntry> NameChain::first_of(Wait& wait) const {
  // Claims that gave their names back have left.
  while (!wait.line.empty() && !named_.contains(wait.line.front().claim)) wait.line.pop_front();
  if (wait.line.empty()) return std::nullopt;
  return wait.line.front();
}

Task<void> NameChain::serve(std::shared_ptr<Wait> wait) {
  const std::stop_token stop = background_.stop_token();
  wait->looks_since = runtime_.now();
  for (;;) {
    const std::optional<QueueEntry> first = first_of(*wait);
    if (!first) {
      const Deadline end = Deadline::at(runtime_.now() + kKeepIdle);
      const Woken woken = co_await wait->changed.wait(end, stop);
      wait->changed.reset();
      wait->looks_since = runtime_.now();
      if (woken == Woken::cancelled) co_return;
      if (woken == Woken::timed_out && !first_of(*wait)) break;
      continue;
    }
    if (wait->connection && !wait->connection->connected()) hang_up(*wait);
    if (!wait->connection && sessions_ < kMaxSessions) co_await connect(*wait);
    if (wait->connection) {
      co_await sleep_behind(*wait, *first);
    } else {
      co_await look(*wait, *first);
    }
    if (stop.stop_requested()) co_return;
  }
  hang_up(*wait);
  const auto found = waits_.find(wait->key);
  if (found != waits_.end() && found->second == wait) waits_.erase(found);
}

Task<void> NameChain::connect(Wait& wait) {
  ++sessions_;
  Result<std::unique_ptr<MariadbConnection>> connected =
      co_await database_.connect(TableDatabase::Use::sleeping);
  if (connected) {
    wait.connection = std::move(connected).value();
  } else {
    --sessions_;
  }
}

void NameChain::hang_up(Wait& wait) {
  if (!wait.connection) return;
  wait.connection.reset();
  --sessions_;
}

Task<void> NameChain::look(Wait& wait, QueueEntry entry) {
  std::vector<SqlStatement> statements(
      1, in_order(table_sql().look, {wait.key, table::to_value(entry.claim)}));
  const Deadline deadline = Deadline::at(runtime_.now() + database_.settings().request_timeout);
  const Result<table::Requests::Asked> asked = co_await database_.requests().ask(
      database_.calls(), std::move(statements), deadline, background_.stop_token());
  if (asked) note_look(wait, entry, asked->outcome.results.at(0));
  co_await pause(wait, kPauseWithoutSession);
}

Task<void> NameChain::sleep_behind(Wait& wait, QueueEntry entry) {
  // One that had no name a moment ago hardly has one now. One of ours that waits is not before our first (any more):
  // it was dropped from the queue, and its name would keep us asleep.
  const bool nameless = entry.before == wait.nameless && runtime_.now() < wait.nameless_until;
  const bool waits_itself = entry.before && is_awaited(wait.key, *entry.before);
  const std::optional<ClaimId> before = nameless || waits_itself ? std::nullopt : entry.before;
  std::vector<SqlStatement> statements;
  if (before) {
    const std::string name = name_of(*before);
    statements.push_back({"SELECT GET_LOCK(?, ?), RELEASE_LOCK(?)", {name, kSleepSeconds, name}});
    statements.back().answer = one_row("n");
    wait.connection->expect_to_wait();
  }
  statements.push_back(in_order(table_sql().look, {wait.key, table::to_value(entry.claim)}));
  const Deadline deadline = Deadline::at(runtime_.now() + std::chrono::seconds(kSleepSeconds) +
                                         database_.settings().request_timeout);
  const SqlOutcome outcome =
      co_await wait.connection->run(std::move(statements), deadline, background_.stop_token());
  if (!outcome.ok()) {
    hang_up(wait);
    co_return co_await pause(wait, kPauseWithoutSession);
  }
  const SqlRows& row = outcome.results.back();
  note_look(wait, entry, row);
  const std::optional<QueueEntry> next = first_of(wait);
  const bool got = before && outcome.results.front().number(0, 0) == 1;
  const bool same = next && next->claim == entry.claim;
  if (same && got && next->before == before) {
    wait.nameless = before;
    wait.nameless_until = runtime_.now() + kNameless;
  } else if (!same || (next->before && next->before != wait.nameless &&
                       !(waits_itself && next->before == entry.before))) {
    wait.looks_since = runtime_.now();
    co_return;
  }
  co_await pause(wait, kShortestPause);
}

void NameChain::note_look(Wait& wait, const QueueEntry& entry, const SqlRows& row) {
  tell(wait, row);
  // It may have queued again meanwhile.
  const auto found = std::ranges::find(wait.line, entry.number, &QueueEntry::number);
  if (found == wait.line.end()) return;
  if (row.empty() || row.null(0, kLookPlace)) {
    wait.line.erase(found);
    // If it was not granted anything, it was taken for dead.
    if (is_awaited(wait.key, entry.claim)) on_wake(entry.claim, std::nullopt);
    return;
  }
  found->before.reset();
  if (row.null(0, kLookBefore)) return;
  found->before = claim_from_bytes(row.bytes(0, kLookBefore));
  // An answer that told its place was lost: they stand in another order.
  const auto ahead = std::ranges::find(wait.line, *found->before, &QueueEntry::claim);
  if (ahead != wait.line.end()) wait.line.splice(std::next(ahead), wait.line, found);
}

bool NameChain::is_awaited(const std::string& key, const ClaimId& claim) const {
  const std::vector<Awaited> waiting = awaited(key);
  return std::ranges::find(waiting, claim, &Awaited::claim) != waiting.end();
}

Task<void> NameChain::pause(Wait& wait, Duration shortest) {
  const BootTime now = runtime_.now();
  const Duration span =
      std::clamp<Duration>((now - wait.looks_since) / 20, shortest, kLongestPause);
  static_cast<void>(co_await wait.changed.wait(Deadline::at(now + span), background_.stop_token()));
  wait.changed.reset();
}

void NameChain::tell(Wait& wait, const SqlRows& row) {
  const std::vector<Awaited> waiting = awaited(wait.key);
  if (row.empty() || waiting.empty()) return;
  const std::int64_t now = row.number(0, kLookNow);
  std::optional<ClaimId> owner;
  if (!row.null(0, kLookOwner)) owner = claim_from_bytes(row.bytes(0, kLookOwner));
  const std::vector<table::HolderRow> sharing = holders_from(row.bytes(0, kLookHolders));
  const auto wake = [&](const ClaimId& claim, std::int64_t token, std::int64_t expires,
                        std::int64_t ttl) {
    const Duration left(std::min(expires - now, ttl));
    if (left <= Duration::zero()) return on_wake(claim, std::nullopt);
    on_wake(claim, Given{table::token_from(token), left});
  };
  // Nobody holds it any more: those who wait have to serve themselves.
  const bool over = owner ? row.number(0, kLookExpires) <= now : sharing.empty();
  if (over) on_wake(waiting.front().claim, std::nullopt);
  for (const Awaited& each : waiting) {
    if (each.alone && owner == each.claim) {
      wake(each.claim, row.number(0, kLookToken), row.number(0, kLookExpires),
           row.number(0, kLookTtl));
    }
    for (const table::HolderRow& holder : sharing) {
      if (holder.claim != each.claim) continue;
      wake(each.claim, holder.token, holder.expires, holder.ttl);
      // The next in line may share it as well.
      const Deadline deadline = Deadline::at(runtime_.now() + database_.settings().request_timeout);
      background_.spawn(give_name(each.claim, deadline));
    }
  }
}

}  // namespace holdfast::internal::mysql
