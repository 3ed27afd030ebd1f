#include "engines/etcd/acquisition.h"

#include <algorithm>

#include "base/require.h"
#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::etcd {

namespace {

// Waiters survive a cluster that has lost its leader, or is being restarted: for so long, and at
// least for a ttl, as long as their key may still be there.
constexpr Duration kPatience = std::chrono::seconds(30);
constexpr Duration kMaxCheckPace = std::chrono::seconds(15);
constexpr Duration kMaxPause = std::chrono::milliseconds(500);
constexpr int kMaxAttempts = 3;  // of a claim that does not wait

// Says at our key that we hold, so that the next in the queue needs not read it. `entry` is given up
// then, not before: a watch that begins while something is being written may have to wait for etcd's
// catch-up, and the next of our claims begins one when it moves up.
Task<void> mark(Cluster& cluster, std::string key, Revision token, std::string note,
                std::unique_ptr<LocalQueue<Predecessor>::Entry> /*entry*/) {
  Txn txn;
  txn.if_created_at(key, token).put_value(Txn::Branch::then, key, note);
  static_cast<void>(co_await cluster.txn(std::move(txn), cluster.request_deadline()));
}

}  // namespace

Acquisition::Acquisition(Runtime& runtime, Cluster& cluster, Sessions& sessions, Watcher& watcher,
                         Claims& claims, Releases& releases, TaskGroup& background,
                         const Claim& claim, const Wait& wait)
    : runtime_(runtime),
      cluster_(cluster),
      sessions_(sessions),
      claims_(claims),
      releases_(releases),
      background_(background),
      claim_(claim),
      wait_(wait),
      key_(runtime, cluster, claims, claim_, wait),
      predecessors_(runtime, watcher, claims, claim_, key_, *this) {
  claims_.add(claim_.id, *this);
}

Acquisition::~Acquisition() {
  claims_.remove(claim_.id, *this);
  if (!claims_.held(claim_.id)) claims_.slots.leave(claim_.id, key_.clean());
}

void Acquisition::move_to(State next) {
  HOLDFAST_REQUIRE(state_ == State::outside || state_ == State::queued);
  HOLDFAST_REQUIRE(next != State::held || state_ == State::queued);
  HOLDFAST_REQUIRE(next != State::queued || key_.created() != 0);
  state_ = next;
}

void Acquisition::end() {
  ended_ = true;
  wake();
}

Failure Acquisition::other_limit(std::uint32_t permits) const {
  return Failure(Code::invalid_argument, "the semaphore '" + claim_.name.display() + "' has " +
                                             std::to_string(permits) + " permits at present, not " +
                                             std::to_string(claim_.permits));
}

std::optional<Failure> Acquisition::over(Woken woken) {
  if (ended_) return Failure(Code::cancelled, "it was released while it waited");
  if (woken == Woken::cancelled || wait_.stop.stop_requested()) {
    return Failure(Code::cancelled, "cancelled by the caller");
  }
  if (wait_.deadline.passed(runtime_.now())) return Failure::busy({});
  return std::nullopt;
}

bool Acquisition::passing(const Failure& failure) {
  const BootTime now = runtime_.now();
  if (!troubled_since_ || key_.answered_at() > troubled_since_) troubled_since_ = now;
  return (failure.code() == Code::unreachable || failure.code() == Code::unknown) &&
         now - *troubled_since_ <= std::max(kPatience, claim_.ttl);
}

// ---- The way -----------------------------------------------------------------------------------

Task<Result<Grant>> Acquisition::run() {
  if (wait_.stop.stop_requested()) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (!wait_.queue && claim_.mode == Mode::permit) {
    const Result<Position> position = co_await key_.read(Detail::with_holder);
    if (!position) co_return position.failure();
    if (position->state == Position::State::other_limit) {
      co_return other_limit(position->other_permits);
    }
    if (position->state == Position::State::waits && position->created == 0) {
      co_return Failure::busy(position->busy);
    }
  }
  for (int attempt = 0;; ++attempt) {
    const bool once_more = wait_.queue || attempt < kMaxAttempts;
    if (ended_) co_return co_await leave(*over(Woken::signalled));
    local_entry_.reset();
    const Result<Position> position = co_await enter();
    if (!position) {
      if (Cluster::is_lease_not_found(position.failure()) && once_more) continue;
      if (!wait_.queue) co_return co_await leave_unanswered(position.failure());
      const std::optional<Failure> end = co_await pause_after(position.failure());
      if (end) co_return co_await leave(*end);
      continue;
    }
    if (position->state == Position::State::other_limit) {
      co_return co_await leave(other_limit(position->other_permits));
    }
    bool waited = key_.found();
    if (position->state != Position::State::holds) {
      if (!wait_.queue) co_return co_await leave(Failure::busy(position->busy));
      const Result<bool> holds = co_await wait_in_queue(*position);
      if (!holds) co_return co_await leave(holds.failure());
      if (!*holds) {
        move_to(State::outside);
        continue;
      }
      waited = true;
    }
    Result<Grant> granted = co_await grant(waited);
    if (granted || granted.code() != Code::not_held || !once_more) co_return granted;
    move_to(State::outside);  // Lost at the last moment: back to the end of the queue.
  }
}

Task<Result<Position>> Acquisition::enter() {
  const Result<void> found = co_await find_session();
  if (!found) co_return found.failure();
  Result<Position> position = Failure(Code::unreachable, "");
  if (wait_.queue) {
    position = co_await key_.enter(session_->get());
  } else {
    position = co_await key_.enter_if_free(session_->get());
  }
  if (position && position->state == Position::State::holds && position->created == 0) {
    co_return cluster_.failed(Code::unknown, "an answer that makes no sense");
  }
  if (position && position->created != 0) move_to(State::queued);
  if (!position && Cluster::is_lease_not_found(position.failure())) sessions_.lose(**session_);
  co_return position;
}

Task<Result<void>> Acquisition::find_session() {
  if (session_ && (*session_)->usable()) co_return Result<void>();
  const Deadline deadline = key_.answer_deadline();
  Result<SessionPtr> session = Failure(Code::unreachable, "");
  if (claim_.outlives_process) {
    session = co_await sessions_.own(claim_.ttl, deadline, wait_.stop);
  } else {
    session = co_await sessions_.of_ttl(claim_.ttl, key_.key(), deadline, wait_.stop);
  }
  if (!session) co_return session.failure();
  session_.emplace(runtime_, *session);
  co_return Result<void>();
}

Task<std::optional<Failure>> Acquisition::pause_after(Failure why) {
  if (std::optional<Failure> end = over(Woken::signalled)) co_return end;
  // A claim that has never been in the queue fails at once; another one waits for better.
  if (!passing(why) || !(key_.entered() || key_.unsure())) co_return why;
  const Deadline again = wait_.deadline.sooner(runtime_.now() + runtime_.jitter(pause_));
  pause_ = std::min(pause_ * 2, kMaxPause);
  const Woken woken = co_await predecessors_.watches.changed.wait(again, wait_.stop);
  predecessors_.watches.changed.reset();
  co_return over(woken);
}

// ---- In the queue ------------------------------------------------------------------------------

Task<Result<bool>> Acquisition::wait_in_queue(Position position) {
  WatchSet& watches = predecessors_.watches;
  Pace pace{.check_by = runtime_.now() + check_pace()};
  predecessors_.clear();
  if (claim_.mode == Mode::exclusive) {
    const auto order = static_cast<std::uint64_t>(key_.created());
    local_entry_ = std::make_unique<LocalEntry>(claims_.queue, key_.keys().base, key_.key(), order,
                                                watches.changed);
    const Result<void> near = co_await wait_behind_ours(position);
    if (!near) co_return near.failure();
    if ((*session_)->lost) co_return false;
  }
  for (bool read = position.state == Position::State::hidden;;) {
    if (read) {
      const Result<Position> now = co_await key_.read(Detail::position);
      if (!now && !passing(now.failure())) co_return now.failure();
      if (now) position = *now;
      if (now && position.state == Position::State::holds) co_return true;
      if (now && position.state == Position::State::absent) co_return false;
      read = !now;
    }
    if (!read) predecessors_.watch(position, **session_);
    const bool may_be_late = !read && watches.may_be_late(runtime_.now());
    const Result<Woken> woken = co_await wait_for_turn(pace, read, may_be_late);
    if (!woken) co_return woken.failure();
    if ((*session_)->lost) co_return false;
    if (watches.blind) {
      predecessors_.clear();
      read = true;
      // Not in a hurry: a server that cannot watch would be asked without end.
      const BootTime again = runtime_.now() + runtime_.jitter(pace.retry);
      static_cast<void>(co_await sleep_until(runtime_, again, wait_.stop));
      pace.retry = std::min(pace.retry * 2, kMaxPause);
      continue;
    }
    Effect effect = predecessors_.take_events();
    if (effect == Effect::none && !read) {
      effect = co_await check(pace, position, may_be_late && *woken == Woken::timed_out);
    }
    if (effect == Effect::granted) co_return true;
    read = read || effect == Effect::read_again;
  }
}

Task<Result<void>> Acquisition::wait_behind_ours(Position& position) {
  if (position.state != Position::State::hidden) co_return Result<void>();
  while (!local_entry_->near_front()) {
    const Woken woken = co_await predecessors_.watches.changed.wait(wait_.deadline, wait_.stop);
    predecessors_.watches.changed.reset();
    if (const std::optional<Failure> end = over(woken)) co_return *end;
    if ((*session_)->lost) co_return Result<void>();
  }
  if (!local_entry_->before) static_cast<void>(co_await key_.find_predecessors_of_all());
  if (local_entry_->before) {
    position.state = Position::State::waits;
    position.predecessors = {*local_entry_->before};
    position.seen_at = 0;  // Whether it is still there is checked next.
  }
  co_return Result<void>();
}

Task<Result<Woken>> Acquisition::wait_for_turn(Pace& pace, bool reading, bool may_be_late) {
  const BootTime now = runtime_.now();
  Deadline until =
      wait_.deadline.sooner(reading ? now + runtime_.jitter(pace.retry) : pace.check_by);
  if (reading) pace.retry = std::min(pace.retry * 2, kMaxPause);
  if (may_be_late) until = until.sooner(now + std::exchange(pace.late, pace.late * 2));
  WatchSet& watches = predecessors_.watches;
  const Woken woken = co_await watches.changed.wait(until, wait_.stop);
  watches.changed.reset();
  if (const std::optional<Failure> end = over(woken)) co_return *end;
  co_return woken;
}

// Between our read and the beginning of the watches something may have happened, or after that if they
// are late; or an event was lost. (The first of our own claims checks for all.)
Task<Effect> Acquisition::check(Pace& pace, Position& position, bool late) {
  WatchSet& watches = predecessors_.watches;
  const bool front = !local_entry_ || local_entry_->first();
  const bool due = runtime_.now() >= pace.check_by;
  if (due) {
    pace.check_by = runtime_.now() + check_pace();
    if ((*session_)->outdated) static_cast<void>(co_await move_key(session_->get()));
    // Not only keys that are gone: a mark may be lost as well.
    if (claim_.mode == Mode::permit) co_return Effect::read_again;
  }
  const bool missed = watches.live() && ((late && front) || !watches.covers(position.seen_at));
  if (!missed && !(due && front)) co_return Effect::none;
  const Result<bool> same = co_await key_.unchanged(predecessors_.keys(), position);
  if (!same || !*same) co_return Effect::read_again;
  watches.nothing_happened(position.seen_at);
  const Effect effect = predecessors_.take_events();
  if (effect == Effect::none && !watches.covers(position.seen_at)) co_return Effect::read_again;
  co_return effect;
}

Duration Acquisition::check_pace() const {
  return runtime_.jitter(std::min<Duration>(claim_.ttl / 2, kMaxCheckPace));
}

// ---- Out of it ---------------------------------------------------------------------------------

Task<Result<Grant>> Acquisition::grant(bool waited) {
  SessionPtr session = session_of_key();
  HeldKey held{
      .id = claim_.id, .key = key_.key(), .token = key_.created(), .unsure = key_.unsure()};
  if (const HeldKey* before = claims_.held(claim_.id); before && before->token == held.token) {
    // A request to end it that was not answered may yet be executed, too.
    held.unsure = held.unsure || before->unsure || before->ending;
  }
  // A hold for a script is renewed by nobody at first: it needs its whole ttl.
  const bool whole = claim_.outlives_process && waited;
  if (whole || runtime_.now() > session->confirmed + std::min(claim_.ttl, session->ttl) / 5) {
    const Result<void> fresh = co_await refresh_for_grant(session);
    if (!fresh && fresh.code() == Code::not_held) co_return fresh.failure();
    if (!fresh && runtime_.now() > session->confirmed + claim_.ttl / 2) {
      co_return co_await leave(fresh.failure());
    }
  }
  move_to(State::held);
  held.session = session;
  held.ends_at = session->confirmed + claim_.ttl;
  const Revision token = held.token;
  claims_.hold(std::move(held));
  if (claim_.outlives_process) sessions_.forget(session);
  claims_.tell_granted(key_.key(), token);
  if (waited && claim_.mode != Mode::shared) {
    if (local_entry_) local_entry_->leave_behind();
    background_.spawn(mark(cluster_, key_.key(), token, key_.note(true), std::move(local_entry_)));
  }
  co_return Grant{Token(static_cast<std::uint64_t>(token)), session->confirmed,
                  std::min(claim_.ttl, session->ttl)};
}

SessionPtr Acquisition::session_of_key() const {
  const HeldKey* held = claims_.held(claim_.id);
  if (held && held->token == key_.created()) return held->session;  // asked for again
  if (key_.lease() == (*session_)->lease) return session_->get();
  // It may have changed between two attempts.
  if (SessionPtr earlier = sessions_.find(key_.lease())) return earlier;
  auto foreign = std::make_shared<Session>();  // Another process of ours had put the key there.
  foreign->lease = key_.lease();
  foreign->shared = false;
  return foreign;
}

Task<Result<void>> Acquisition::refresh_for_grant(SessionPtr& session) {
  if (!session->outdated) {
    Result<void> fresh = co_await sessions_.refresh(session, key_.key(), key_.answer_deadline());
    if (!session->outdated) co_return fresh;
  }
  const Result<SessionPtr> moved = co_await move_key(session);
  if (!moved) co_return moved.failure();
  session = *moved;
  co_return Result<void>();
}

// If the key is gone, the next read shows it.
Task<Result<SessionPtr>> Acquisition::move_key(SessionPtr from) {
  Result<SessionPtr> moved = co_await sessions_.move_key(
      key_.key(), key_.created(), claim_.ttl, from, !from->shared, key_.answer_deadline());
  if (!moved) co_return unreachable_instead_of_unknown(moved.failure());
  session_.emplace(runtime_, *moved);
  key_.moved_to((*moved)->lease);
  co_return moved;
}

Task<Result<Grant>> Acquisition::leave_unanswered(Failure why) {
  if (wait_.stop.stop_requested()) {
    co_return co_await leave(Failure(Code::cancelled, "cancelled by the caller"));
  }
  move_to(State::left);
  if (why.code() == Code::unknown) sessions_.retire(**session_, key_.key());
  co_return why;
}

Task<Result<Grant>> Acquisition::leave(Failure why) {
  move_to(State::left);
  if (why.code() == Code::busy && key_.entered() && wait_.queue) {  // By whom?
    const Result<Position> position = co_await key_.read(Detail::with_holder);
    if (position) why = Failure::busy(position->busy);
  }
  if (session_ && claim_.outlives_process) sessions_.give_back(session_->get());
  if (!key_.entered() && !key_.unsure()) co_return why;
  if (key_.unsure()) sessions_.retire(**session_, key_.key());
  // A caller that gave up waiting should not wait much longer; what is unknown is ended in the background.
  constexpr Duration kLongest = std::chrono::seconds(1);
  const Deadline deadline = Deadline::at(runtime_.now() + kLongest);
  const Result<bool> left = co_await releases_.remove(claim_, key_.key(), deadline);
  if (left) key_.removed();
  if (!left && left.code() == Code::misconfigured) co_return left.failure();
  if (!left) {
    co_return Failure(Code::unknown,
                      why.message() + "; and the claim could not be taken back: " + left.message());
  }
  // It is known now: nothing is held.
  co_return unreachable_instead_of_unknown(why);
}

}  // namespace holdfast::internal::etcd
