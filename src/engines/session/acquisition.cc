#include "engines/session/acquisition.h"

#include <algorithm>

#include "base/failures.h"
#include "engines/kit/patience.h"

namespace holdfast::internal::session {

namespace {

// How often something may come in between before we say so.
constexpr int kMaxRounds = 10;
constexpr int kMaxLostSessions = 3;

}  // namespace

bool has_it(const SqlOutcome& outcome) {
  const SqlRows& last = outcome.results.back();
  return !last.empty() && last.number(0, 0) == 1;
}

Task<Result<void>> Acquisition::run() {
  for (;;) {
    if (!held_.session) {
      const Result<void> opened = co_await open();
      if (!opened) co_return opened.failure();
    }
    Step step = co_await try_once();
    if (step == Step::busy && !wait_.queue) step = co_await leave_busy();
    if (step == Step::busy) step = co_await wait_in_server();
    if (step == Step::locked) step = co_await draw_token();
    if (step == Step::locked && wait_.stop.stop_requested())
      step = co_await leave(cancelled_by_caller());
    if (step == Step::locked) co_return Result<void>();
    if (step == Step::again && ++rounds_ > kMaxRounds) {
      step = co_await leave(Failure(
          Code::unreachable,
          "sessions on the database server keep ending, or its state keeps changing; try again"));
    }
    if (step == Step::over) co_return *why_;
  }
}

Task<Result<void>> Acquisition::open() {
  constexpr Duration kPause = std::chrono::milliseconds(50);
  const Patience patience(runtime_.now());
  for (;;) {
    // A waiter can wait for a connection as well.
    const Deadline limit =
        wait_.queue
            ? (wait_.deadline.is_never() ? wait_.deadline
                                         : deadlines_.answer(wait_).later(wait_.deadline.moment()))
            : deadlines_.answer(wait_);
    Result<std::shared_ptr<Session>> session = co_await sessions_.take(limit, wait_.stop);
    if (session) {
      held_.session = std::move(session).value();
      break;
    }
    const BootTime again = runtime_.now() + runtime_.jitter(kPause);
    if (!waited_ || !patience.covers(session.code(), again) || wait_.deadline.passed(again)) {
      co_return session.failure();
    }
    const Woken woken = co_await sleep_until(runtime_, again, wait_.stop);
    if (woken == Woken::cancelled) co_return cancelled_by_caller();
  }
  if (wait_.stop.stop_requested()) {
    sessions_.give_back(std::exchange(held_.session, nullptr));
    co_return cancelled_by_caller();
  }
  // The session that we lost may still be queued in front of us.
  if (const std::optional<Orphan> orphan = orphans_.find(held_.claim.id)) {
    const Deadline limit = deadlines_.answer(wait_);
    const Result<void> ended =
        co_await end_session(runtime_, recipe_, *held_.session, *orphan, limit);
    if (ended) orphans_.remove(held_.claim.id);
  }
  co_return Result<void>();
}

// ---- Talking -----------------------------------------------------------------------------------

Task<std::optional<SqlOutcome>> Acquisition::ask(Batch batch) {
  // A caller that leaves waits for an answer that is on its way: that costs less than to end a session.
  constexpr Duration kSoon = std::chrono::milliseconds(100);
  const Deadline limit = deadlines_.answer(wait_);
  Session& session = *held_.session;
  session.send(std::move(batch), Deadline::never());
  Woken woken = co_await session.wait(limit.sooner(runtime_.now() + kSoon));
  if (woken != Woken::signalled) woken = co_await session.wait(limit, wait_.stop);
  if (woken == Woken::signalled) co_return session.take();
  co_await abandon();
  co_return std::nullopt;
}

Task<void> Acquisition::abandon() {
  const std::shared_ptr<Session> session = std::exchange(held_.session, nullptr);
  const Orphan orphan{session->opened().number, session->opened().peer};
  orphans_.add(held_.claim.id, session->opened());
  const bool stopped = wait_.stop.stop_requested();
  if (!stopped) session->give_up();
  sessions_.forget(session);
  why_ = Failure(Code::unknown, "the database server did not answer in time");
  if (!stopped) co_return;
  const Deadline limit = deadlines_.withdrawal();
  Result<std::shared_ptr<Session>> other = co_await sessions_.take(limit);
  if (!other) co_return;
  const Loan loan(sessions_, *other);
  const Result<void> ended = co_await end_session(runtime_, recipe_, **other, orphan, limit);
  if (!ended) co_return;
  orphans_.remove(held_.claim.id);
  why_ = cancelled_by_caller();
}

Task<bool> Acquisition::clear() {
  // An interruption that comes late can hit this one.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::optional<SqlOutcome> outcome = co_await ask(recipe_.give(held_.key, held_.claim));
    if (!outcome) co_return false;
    if (outcome->ok()) co_return true;
    if (outcome->error->lost) break;
  }
  // With the session everything in it ends.
  sessions_.forget(std::exchange(held_.session, nullptr));
  co_return true;
}

Task<Acquisition::Step> Acquisition::clear_and_ask_again() {
  const bool cleared = co_await clear();
  co_return cleared ? Step::again : Step::over;
}

Task<Acquisition::Step> Acquisition::leave(Failure why) {
  if (held_.session) {
    const bool cleared = co_await clear();
    if (!cleared) co_return Step::over;
  }
  if (held_.session) sessions_.give_back(std::exchange(held_.session, nullptr));
  why_ = std::move(why);
  co_return Step::over;
}

Task<Acquisition::Step> Acquisition::leave_busy() {
  if (waited_ || recipe_.busy_leaves_something()) {
    const bool cleared = co_await clear();
    if (!cleared) co_return Step::over;
  }
  Failure why = co_await busy();
  if (held_.session) sessions_.give_back(std::exchange(held_.session, nullptr));
  why_ = std::move(why);
  co_return Step::over;
}

// Judges an answer. Lost sessions are replaced, missing tables made.
Task<Acquisition::Step> Acquisition::judge(const SqlOutcome& outcome) {
  if (outcome.ok()) {
    const SqlRows& last = outcome.results.back();
    if (last.empty()) co_return co_await start_over();
    if (last.number(0, 0) == 1) co_return Step::locked;
    if (!last.null(0, 0)) co_return Step::busy;
    co_return co_await leave(Failure(
        Code::unreachable, "the database server could not say whether the lock is free (NULL)"));
  }
  const SqlError& error = *outcome.error;
  if (error.lost) {
    orphans_.add(held_.claim.id, held_.session->opened());
    sessions_.forget(std::exchange(held_.session, nullptr));
    // One that the server had ended while it was idle says nothing about the server.
    if (++lost_sessions_ <= kMaxLostSessions) co_return Step::again;
    why_ = Failure(Code::unknown, recipe_.failure_of(error).message());
    co_return Step::over;
  }
  const SqlTrouble trouble = recipe_.trouble_with(error);
  if (trouble == SqlTrouble::busy) co_return Step::busy;
  if (trouble == SqlTrouble::no_table) co_return co_await make_tables();
  if (trouble == SqlTrouble::again || trouble == SqlTrouble::interrupted) {
    co_return co_await clear_and_ask_again();
  }
  co_return co_await leave(recipe_.failure_of(error));
}

Task<Acquisition::Step> Acquisition::make_tables() {
  if (const std::optional<Failure> forbidden = recipe_.no_tables()) {
    co_return co_await leave(*forbidden);
  }
  if (held_.session) {
    const bool cleared = co_await clear();
    if (!cleared) co_return Step::over;
  }
  if (!held_.session) {  // give() may need the tables as well.
    const Result<void> opened = co_await open();
    if (!opened) {
      why_ = opened.failure();
      co_return Step::over;
    }
  }
  const std::optional<SqlOutcome> made = co_await ask(recipe_.make_tables());
  if (!made) co_return Step::over;
  if (!made->ok() && !made->error->lost) co_return co_await leave(recipe_.failure_of(*made->error));
  co_return Step::again;
}

Task<Acquisition::Step> Acquisition::start_over() {
  const bool cleared = co_await clear();
  if (!cleared) co_return Step::over;
  if (!held_.session) co_return Step::again;
  Batch rows = recipe_.prepare(held_.key);
  if (rows.empty()) co_return Step::again;
  Batch last = recipe_.quarantine(held_.key);
  const bool asked = !last.empty();
  for (SqlStatement& statement : last) rows.push_back(std::move(statement));
  const std::optional<SqlOutcome> made = co_await ask(std::move(rows));
  if (!made) co_return Step::over;
  if (made->ok()) {
    const SqlRows& answer = made->results.back();
    const std::int64_t us = asked && !answer.empty() ? answer.number(0, 0) : 0;
    // No grant is longer than that; a server that says so makes no sense.
    constexpr std::chrono::microseconds kMax = std::chrono::hours(24 * 31);
    if (us > 0) co_return co_await sit_out(std::min(std::chrono::microseconds(us), kMax));
    co_return Step::again;
  }
  // Where it failed, the session's variables are not what they were.
  sessions_.forget(std::exchange(held_.session, nullptr));
  const SqlError& error = *made->error;
  if (error.lost) co_return Step::again;
  switch (recipe_.trouble_with(error)) {
    case SqlTrouble::no_table: co_return co_await make_tables();
    case SqlTrouble::other: co_return co_await leave(recipe_.failure_of(error));
    default: co_return Step::again;
  }
}

Task<Acquisition::Step> Acquisition::sit_out(Duration quarantine) {
  // Not worth being told of, even to callers that do not wait.
  constexpr Duration kMoment = std::chrono::milliseconds(500);
  sessions_.give_back(std::exchange(held_.session, nullptr));
  const auto resting = [&] {
    return Failure::busy(Busy{.holder = "someone granted it before the server began anew",
                              .expires_in = quarantine});
  };
  const BootTime end = runtime_.now() + quarantine;
  const bool too_long = quarantine > kMoment && (!wait_.queue || wait_.deadline.passed(end));
  if (!wait_.queue && too_long) {
    why_ = resting();
    co_return Step::over;
  }
  const BootTime until = too_long ? wait_.deadline.moment() : end;
  const Woken woken = co_await sleep_until(runtime_, until, wait_.stop);
  if (woken == Woken::cancelled || too_long) {
    why_ = woken == Woken::cancelled ? cancelled_by_caller() : resting();
    co_return Step::over;
  }
  rounds_ = 0;
  co_return Step::again;
}

// ---- Taking ------------------------------------------------------------------------------------

Task<Acquisition::Step> Acquisition::try_once() {
  Session& session = *held_.session;
  Batch batch;
  // Not coarser than what a server can be told: a session that served a shorter ttl would end
  // while this one is held.
  const auto idle = std::chrono::ceil<std::chrono::milliseconds>(held_.claim.ttl);
  if (session.ends_after != idle) {
    batch = recipe_.expire_after(idle);
    session.ends_after = {};  // Until we know that it was executed.
  }
  for (SqlStatement& statement : recipe_.take(held_.key, held_.claim)) {
    batch.push_back(std::move(statement));
  }
  drawn_ = co_await ask(std::move(batch));
  if (!drawn_) co_return Step::over;
  if (drawn_->ok()) recipe_.conclude(*drawn_);
  const Step step = co_await judge(*drawn_);
  if (step == Step::locked || step == Step::busy) held_.session->ends_after = idle;
  co_return step;
}

Task<bool> Acquisition::interrupt() {
  // One that comes between two statements of the batch ends neither.
  constexpr Duration kAgain = std::chrono::milliseconds(50);
  const Deadline limit = deadlines_.withdrawal();
  while (held_.session->busy()) {
    if (limit.passed(runtime_.now())) co_return false;
    {
      const Result<ClerkLoan> clerk = co_await sessions_.take_clerk(limit);
      if (!clerk) co_return false;
      Batch batch = recipe_.interrupt(held_.session->opened());
      static_cast<void>(co_await (*clerk)->ask(std::move(batch), limit));
    }  // Others leave as well.
    co_await held_.session->wait(limit.sooner(runtime_.now() + kAgain));
  }
  co_return true;
}

Task<Acquisition::Step> Acquisition::wait_in_server() {
  // A wait that the server ends by itself at the same time need not be interrupted.
  constexpr Duration kGrace = std::chrono::milliseconds(200);
  waited_ = true;
  drawn_.reset();
  if (Batch first = recipe_.before_wait(); !first.empty()) {
    const std::optional<SqlOutcome> ready = co_await ask(std::move(first));
    if (!ready) co_return Step::over;
    if (!ready->ok()) co_return co_await judge(*ready);
  }
  std::optional<Duration> limit;
  Deadline until = wait_.deadline;
  if (!until.is_never()) {
    const BootTime now = runtime_.now();
    // First, for a deadline can be so long ago that no difference to it can be told.
    if (until.passed(now)) co_return co_await leave_busy();
    limit = until.moment() - now;
    if (recipe_.wait_ends_by_itself()) until = Deadline::at(until.moment() + kGrace);
  }
  held_.session->send_wait(recipe_.wait(held_.key, held_.claim, limit));
  const std::optional<Woken> woken = co_await wait_for_answer(until);
  if (!woken) co_return replace_silent_session();
  if (woken != Woken::signalled) {
    const bool ended = co_await interrupt();
    if (!ended) {
      co_await abandon();
      co_return Step::over;
    }
  }
  SqlOutcome outcome = held_.session->take();
  if (outcome.ok()) recipe_.conclude(outcome);
  const bool stopped = wait_.stop.stop_requested();
  if (stopped && (outcome.ok() || !outcome.error->lost))
    co_return co_await leave(cancelled_by_caller());
  if (outcome.ok() && has_it(outcome)) {
    drawn_ = std::move(outcome);
    co_return Step::locked;
  }
  const bool over = wait_.deadline.passed(runtime_.now());
  const bool lost = !outcome.ok() && outcome.error->lost;
  if (over && !lost) co_return co_await leave_busy();
  // GET_LOCK says NULL when somebody has ended its statement.
  if (outcome.ok() && !outcome.results.back().empty() && outcome.results.back().null(0, 0)) {
    co_return co_await clear_and_ask_again();
  }
  const Step step = co_await judge(outcome);
  if (step != Step::busy) co_return step;
  // Something of it may be held, and asking again would not tell.
  co_return co_await clear_and_ask_again();
}

// Names the holder. Never fails: that the lock is busy is known already.
Task<Failure> Acquisition::busy() {
  Busy who;
  if (!held_.session) co_return Failure::busy(std::move(who));
  const std::optional<SqlOutcome> outcome = co_await ask(recipe_.look(held_.key));
  if (!outcome || !outcome->ok()) co_return Failure::busy(std::move(who));
  const LockInfo info = recipe_.seen(held_.claim.name, *outcome);
  if (!info.holders.empty()) {
    who.holder = info.holders.front().label;
    who.token = info.holders.front().token.value();
    who.expires_in = info.holders.front().expires_in;
  }
  who.rank = info.waiters.size();
  co_return Failure::busy(std::move(who));
}

// ---- Tokens ------------------------------------------------------------------------------------

Task<Acquisition::Step> Acquisition::draw_token() {
  // The server counts the ttl from when it answered, which is not before we asked. But who waited
  // for long has little left of a ttl that is counted from then, and asks once more.
  const bool recent = runtime_.now() < drawn_->sent_at + held_.claim.ttl / 2;
  const bool drew = recipe_.has_tokens() && !drawn_->results.back().null(0, 1);
  if (drew) {
    held_.token = Token(static_cast<std::uint64_t>(drawn_->results.back().number(0, 1)));
  }
  if (drew || !recipe_.has_tokens()) {
    if (!recent) co_return co_await confirm();
    held_.counted_from = drawn_->sent_at;
    co_return Step::locked;
  }
  if (!recipe_.draws_elsewhere()) co_return co_await start_over();
  if (Batch first = recipe_.before_draw(held_.key); !first.empty()) {
    drawn_ = co_await ask(std::move(first));
    if (!drawn_) co_return Step::over;
    if (!drawn_->ok()) co_return co_await judge(*drawn_);
    if (!has_it(*drawn_)) co_return co_await start_over();
  }
  std::optional<SqlOutcome> outcome;
  for (int attempt = 0; attempt < 3; ++attempt) {  // a deadlock with somebody else's token
    outcome = co_await draw_elsewhere();
    if (!outcome) co_return Step::over;
    if (outcome->ok() || recipe_.trouble_with(*outcome->error) != SqlTrouble::again) break;
  }
  if (!outcome->ok()) {
    if (outcome->error->lost) {
      co_return co_await leave(
          Failure(Code::unreachable, recipe_.failure_of(*outcome->error).message()));
    }
    const Step step = co_await judge(*outcome);
    if (step != Step::busy) co_return step;
    co_return co_await clear_and_ask_again();  // The row of the token was busy.
  }
  recipe_.conclude_draw(*outcome);
  if (!has_it(*outcome)) co_return co_await start_over();
  held_.token = Token(static_cast<std::uint64_t>(outcome->results.back().number(0, 1)));
  if (!recent) co_return co_await confirm();
  held_.counted_from = drawn_->sent_at;
  co_return Step::locked;
}

Task<std::optional<SqlOutcome>> Acquisition::draw_elsewhere() {
  const Deadline limit = deadlines_.answer(wait_);
  const Result<ClerkLoan> clerk = co_await sessions_.take_clerk(limit);
  if (!clerk) {
    static_cast<void>(co_await leave(clerk.failure()));
    co_return std::nullopt;
  }
  Batch batch =
      recipe_.draw(held_.key, held_.claim, held_.session->opened(), drawn_->results.back());
  co_return co_await (*clerk)->ask(std::move(batch), limit);
}

// Confirms that we have it at a moment after this request left.
Task<Acquisition::Step> Acquisition::confirm() {
  const std::optional<SqlOutcome> outcome =
      co_await ask(recipe_.confirm(held_.key, held_.claim, held_.session->opened()));
  if (!outcome) co_return Step::over;
  if (outcome->ok() && has_it(*outcome)) {
    held_.counted_from = outcome->sent_at;
    co_return Step::locked;
  }
  if (!outcome->ok()) co_return co_await judge(*outcome);
  co_return co_await start_over();
}

}  // namespace holdfast::internal::session
