#include "engines/table/table_engine.h"

#include <algorithm>

#include "engines/kit/expiry_look.h"
#include "engines/kit/failures.h"
#include "engines/kit/patience.h"
#include "engines/kit/withdrawal.h"

namespace holdfast::internal::table {

namespace {

using Urgency = ConnectionPool::Urgency;

}  // namespace

Guarantees server_guarantees(const char* engine) {
  return Guarantees{
      .engine = engine,
      .recipe = "table",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::durable_one_node,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = true,
      .records = true,
      .min_ttl = std::chrono::milliseconds(50),
      .notes =
          "Leases are rows and outlive connections and restarts. A lock is lost if the server's "
          "clock is set ahead, or if a failover forgets the newest commits."};
}

TableEngine::TableEngine(Runtime& runtime, std::unique_ptr<LockTable> table,
                         std::shared_ptr<ServerExaminer> examiner, Duration request_timeout)
    : Engine(runtime),
      examiner_(std::move(examiner)),
      deadlines_(runtime, request_timeout, kSqlAnswerGrace),
      table_(std::move(table)),
      waking_(table_->waking()),
      background_(runtime) {
  waking_.on_wake = [this](const ClaimId& claim, const std::optional<Given>& given) {
    on_wake(claim, given);
  };
  waking_.on_deaf = [this] {
    for (const auto& [claim, waiter] : waiters_) waiter->told.set();
  };
  waking_.awaited = [this](const std::string& key) {
    std::vector<Waking::Awaited> all;
    for (const auto& [claim, waiter] : waiters_) {
      if (waiter->key == key && !waiter->told.is_set()) all.push_back({claim, waiter->alone});
    }
    return all;
  };
  waking_.anyone_waits = [this] {
    return std::ranges::any_of(waiters_,
                               [](const auto& each) { return !each.second->told.is_set(); });
  };
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Grant>> TableEngine::acquire(const Claim& claim, const Wait& wait) {
  if (wait.stop.stop_requested()) co_return cancelled_by_caller();
  given_up_.erase(claim.id);
  // A newcomer does not try to get past a queue that was there a moment ago.
  const bool crowded = wait.queue && recently_contended_.contains(claim.name, runtime().now());
  if (claim.mode == Mode::exclusive && !crowded) {
    const Result<Taken> taken = co_await table_->take(claim, answer_deadline(wait), wait.stop);
    if (!taken) {
      if (taken.code() == Code::unknown) expect_late_execution(claim);
      if (!wait.stop.stop_requested()) co_return taken.failure();
      co_return co_await leave(claim, cancelled_by_caller());
    }
    if (taken->given) co_return Grant{taken->given->token, taken->sent_at, claim.ttl};
  }
  if (wait.queue) co_return co_await wait_in_line(claim, wait, !crowded);
  co_return co_await try_once(claim, wait);
}

Task<Result<Grant>> TableEngine::try_once(const Claim& claim, const Wait& wait) {
  Result<Taken> taken = Failure(Code::unreachable, "not asked");
  if (claim.mode == Mode::exclusive) {
    // Mostly somebody holds it, and looking is cheaper than a turn.
    taken = co_await table_->look(claim, answer_deadline(wait), wait.stop);
    if (taken && !taken->standing.turn_may_help && taken->standing.in_the_way.busy.token != 0) {
      co_return Failure::busy(std::move(taken->standing.in_the_way.busy));
    }
  }
  taken = co_await table_->acquire(claim, false, answer_deadline(wait), wait.stop);
  if (!taken) {
    if (taken.code() == Code::unknown) expect_late_execution(claim);
    if (!wait.stop.stop_requested()) co_return taken.failure();
    co_return co_await leave(claim, cancelled_by_caller());
  }
  if (taken->given) co_return Grant{taken->given->token, taken->sent_at, taken->given->ttl};
  co_return Failure::busy(std::move(taken->standing.in_the_way.busy));
}

Task<Result<Taken>> TableEngine::stand(const Claim& claim, bool in_line, bool turn,
                                       const Wait& wait) {
  const Deadline limit = answer_deadline(wait);
  if (!turn) {
    Result<Taken> seen = co_await table_->look(claim, limit, wait.stop);
    if (!seen || (seen->standing.waits && !seen->standing.turn_may_help)) co_return seen;
    const bool dropped = in_line && !seen->standing.waits && !seen->standing.holds;
    if (dropped && claim.mode == Mode::exclusive) waking_.missed_wake();
    turn = seen->standing.holds;
  }
  if (turn && in_line && claim.mode == Mode::exclusive) {
    // We were told, or have seen, that it is ours: one request takes it up.
    Result<Taken> taken = co_await table_->take(claim, limit, wait.stop);
    if (!taken || taken->given) co_return taken;
  }
  // Nobody could wake us before.
  const Result<void> heard = co_await waking_.listen(limit, wait.stop);
  if (!heard) co_return heard.failure();
  co_return co_await table_->acquire(claim, true, limit, wait.stop);
}

void TableEngine::leave_line(const Waiter& waiter) {
  const auto line = lines_.find(waiter.key);
  const bool first = line->second.front() == &waiter;
  line->second.erase(waiter.place);
  if (line->second.empty()) {
    lines_.erase(line);
    return;
  }
  if (!first || !waking_.poll_after(0, Duration::zero())) return;
  // Those who share are granted together.
  for (Waiter* next : line->second) {
    next->told.set();
    if (waiter.alone || next->alone) break;
  }
}

void TableEngine::stand_last(const Waiter& waiter) {
  Line& line = lines_.at(waiter.key);
  line.splice(line.end(), line, waiter.place);
  if (line.front() != &waiter && waking_.poll_after(0, Duration::zero())) line.front()->told.set();
}

BootTime TableEngine::next_look(const Waiter& self, const Claim& claim, const Standing& standing,
                                BootTime moved_up) const {
  // More than these need not come when the holder's time is over: the first of them serves all.
  constexpr std::uint64_t kVanguard = 4;
  const Duration heartbeat =
      std::clamp<Duration>(claim.ttl / 4, std::chrono::milliseconds(250), std::chrono::seconds(15));
  const BootTime now = runtime().now();
  BootTime look_at = now + runtime().jitter(heartbeat);
  const Busy& busy = standing.in_the_way.busy;
  if (const auto pace = waking_.poll_after(busy.rank, now - moved_up)) {
    if (lines_.at(self.key).front() != &self) return look_at;
    look_at = std::min(look_at, now + runtime().jitter(*pace));
  }
  if (busy.rank < kVanguard) look_at = std::min(look_at, look_after_expiry(busy, now));
  return look_at;
}

Task<Result<Grant>> TableEngine::wait_in_line(const Claim& claim, const Wait& wait, bool tried) {
  constexpr Duration kPause = std::chrono::milliseconds(100);
  Waiter self(*this, claim);
  bool turn = true;      // a look would not be enough
  bool in_line = false;  // it stood there once
  Patience patience(runtime().now());
  LastTurn last_turn;
  Busy busy;
  BootTime moved_up = runtime().now();  // when its rank last changed
  for (;;) {
    Result<Taken> taken = co_await stand(claim, in_line, turn, wait);
    const BootTime now = runtime().now();
    BootTime look_at = now + runtime().jitter(kPause);
    if (taken) {
      if (taken->given) co_return Grant{taken->given->token, taken->sent_at, taken->given->ttl};
      if (taken->in_turn) last_turn = {taken->sent_at, taken->standing.last_token};
      waking_.now_waiting(self.key);
      recently_contended_.add(claim.name, now);
      const std::uint64_t rank = taken->standing.in_the_way.busy.rank;
      if (rank != busy.rank) moved_up = now;
      if (in_line && rank > busy.rank) stand_last(self);
      in_line = true;
      turn = false;
      patience.answered(now);
      look_at = next_look(self, claim, taken->standing, moved_up);
      busy = std::move(taken->standing.in_the_way.busy);
    } else {
      if (wait.stop.stop_requested()) co_return co_await leave(claim, cancelled_by_caller());
      // The short way was answered, or the queue: somebody has it, and our time is over.
      const bool known = in_line || (tried && claim.mode == Mode::exclusive);
      if (known && taken.code() == Code::unreachable && wait.deadline.passed(now)) {
        co_return co_await leave(claim, Failure::busy(std::move(busy)));
      }
      if (!in_line || !patience.covers(taken.code(), now) || wait.deadline.passed(now)) {
        if (taken.code() == Code::unknown) expect_late_execution(claim);
        co_return co_await leave(claim, taken.failure());
      }
    }
    const Woken woken = co_await self.told.wait(wait.deadline.sooner(look_at), wait.stop);
    self.told.reset();
    turn = std::exchange(self.must_ask, false);
    if (self.given) {
      const Given given = *std::exchange(self.given, std::nullopt);
      if (given.token <= last_turn.last_token) continue;  // The news is older than our place.
      const Grant grant{given.token, last_turn.sent_at, given.ttl};
      // One that is half over may have been taken away meanwhile: ask, which also renews it.
      if (runtime().now() < grant.counted_from + grant.ttl / 2) co_return grant;
      turn = true;
    } else if (woken == Woken::cancelled) {
      co_return co_await leave(claim, cancelled_by_caller());
    } else if (wait.deadline.passed(runtime().now())) {
      co_return co_await leave(claim, Failure::busy(std::move(busy)));
    }
  }
}

Task<Result<Grant>> TableEngine::leave(const Claim& claim, Failure why) {
  // Also ends a hold that was granted this very moment.
  const Result<bool> left =
      co_await table_->release(claim, deadlines_.withdrawal(), false, Urgency::urgent);
  co_return after_withdrawal(why, left);
}

void TableEngine::expect_late_execution(const Claim& claim) {
  if (given_up_.insert(claim.id).second) background_.spawn(sweep(claim));
}

Task<void> TableEngine::sweep(Claim claim) {
  constexpr Duration kLongest = std::chrono::seconds(30);
  const BootTime end = runtime().now() + claim.ttl;
  for (Duration pause = std::chrono::seconds(1);; pause = std::min(2 * pause, kLongest)) {
    const Woken woken =
        co_await sleep_until(runtime(), runtime().now() + pause, background_.stop_token());
    if (woken == Woken::cancelled || !given_up_.contains(claim.id)) co_return;
    const Deadline limit = deadlines_.request(Deadline::never());
    static_cast<void>(co_await table_->release(claim, limit, true, Urgency::urgent));
    if (runtime().now() >= end) break;
  }
  given_up_.erase(claim.id);
}

void TableEngine::on_wake(const ClaimId& claim, const std::optional<Given>& given) {
  const auto place = waiters_.find(claim);
  if (place == waiters_.end()) return;  // It has left; its release ends the grant.
  if (given) {
    place->second->given = given;
  } else {
    place->second->must_ask = true;
  }
  place->second->told.set();
}

// ---- The rest ----------------------------------------------------------------------------------

Task<std::vector<Result<Grant>>> TableEngine::renew(std::span<const Hold> holds,
                                                    Deadline deadline) {
  co_return co_await table_->renew(holds, deadlines_.request(deadline));
}

Task<Result<bool>> TableEngine::release(const Claim& claim, Deadline deadline) {
  co_return co_await table_->release(claim, deadlines_.request(deadline), true, Urgency::release);
}

Task<Result<void>> TableEngine::detach(const Hold& hold, Deadline deadline) {
  // A row ends by release or by its ttl in any case: it only has to be there.
  const std::vector<Result<Grant>> renewed =
      co_await table_->renew(std::span(&hold, 1), deadlines_.request(deadline));
  if (!renewed.front()) co_return renewed.front().failure();
  co_return Result<void>();
}

Task<Result<std::vector<LockInfo>>> TableEngine::list(const std::string& prefix,
                                                      Deadline deadline) {
  co_return co_await table_->list(prefix, deadlines_.request(deadline));
}

Task<Result<LockInfo>> TableEngine::inspect(const Name& name, Deadline deadline) {
  co_return co_await table_->inspect(name, deadlines_.request(deadline));
}

Task<Result<void>> TableEngine::evict(const Name& name, Token token, Deadline deadline) {
  const Result<bool> evicted = co_await table_->evict(name, token, deadlines_.request(deadline));
  if (!evicted) co_return evicted.failure();
  if (*evicted) co_return Result<void>();
  co_return not_held_with(name, token);
}

Task<void> TableEngine::close() {
  background_.stop();
  table_->stop();
  waking_.close();
  co_return;
}

}  // namespace holdfast::internal::table
